import type { ErrorCode, PlanRowChanged } from "./generated.js";

/** A response that is not a success. */
export class StoreroomError extends Error {
  override readonly name: string = "StoreroomError";
  /** Empty if the response does not come from the service, and for 304. */
  readonly code: ErrorCode;
  /** The problems by the name of the field, parameter or header. */
  readonly details: Record<string, string[]>;
  /** The rows of a plan that something else has changed. */
  readonly changed: PlanRowChanged[];

  private constructor(
    readonly request: string,
    readonly status: number,
    /** Include it when you report a problem. */
    readonly requestId: string | null,
    /** The time that the service demands, in milliseconds. */
    readonly retryAfter: number | undefined,
    readonly attempts: number,
    body: { code?: ErrorCode; message?: string; details?: Record<string, string[]>; changed?: PlanRowChanged[] },
  ) {
    const details = Object.entries(body.details ?? {}).map(([name, texts]) => ` ${name} ${texts.join(", ")}.`);
    super(`${request}: ${status} ${body.code ?? ""}: ${body.message ?? ""}${details.join("")} (request ${requestId})`);
    this.code = body.code ?? "";
    this.details = body.details ?? {};
    this.changed = body.changed ?? [];
  }

  /** Whether the same request can succeed later. */
  get temporary(): boolean {
    return [429, 502, 503, 504].includes(this.status) || this.code === "IDEMPOTENCY_IN_PROGRESS";
  }

  /** @internal */
  static from(method: string, path: string, response: Response, text: string, attempts: number): StoreroomError {
    let body = {};
    try {
      body = (JSON.parse(text) as { error?: object }).error ?? {};
    } catch {
      // A proxy has answered.
    }
    const { headers, status } = response;
    return new StoreroomError(
      `${method} ${path}`, status, headers.get("X-Request-Id"), retryAfter(headers.get("Retry-After")), attempts, body,
    );
  }
}

/** A request without a complete response. */
export class StoreroomConnectionError extends Error {
  override readonly name: string = "StoreroomConnectionError";

  constructor(message: string, readonly attempts: number, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Reads seconds or a date. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(milliseconds, 0);
}
