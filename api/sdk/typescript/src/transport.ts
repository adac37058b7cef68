// Sends requests, and sends them again if that is safe.
import { StoreroomConnectionError, StoreroomError } from "./errors.js";

/** The version of this package. */
export const version = "0.1.0";

export interface ClientOptions {
  /** The address of the service, such as https://shop.example.com. */
  url: string;
  /** An API key. */
  key: string;
  /** The time limit of each attempt in milliseconds, until the headers of the response, and for JSON until its end. The default is a minute. */
  timeout?: number;
  /** How often a request is sent again. The default is 4. */
  retries?: number;
  /** The name of your program for the User-Agent, for example "shop-connector/2.1". */
  userAgent?: string;
  /** Replaces the global fetch. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** The key of a write, instead of a random one. A request that is repeated with it, also by another process, is executed once. */
  idempotencyKey?: string;
  /** Headers such as If-Match. */
  headers?: Record<string, string>;
  /** Ends the call, also while it waits to send the request again. */
  signal?: AbortSignal;
  /** Is called with the last response. */
  onResponse?: (response: ResponseInfo) => void;
}

export interface ResponseInfo {
  status: number;
  headers: Headers;
  requestId: string | null;
  /** Whether this is the stored response to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
  attempts: number;
}

/** A file that is read while it arrives. */
export interface FileDownload {
  /** As the service calls it. */
  name: string | undefined;
  contentType: string;
  body: ReadableStream<Uint8Array>;
}

interface Call {
  query?: Record<string, unknown>;
  body?: unknown; // sent as JSON, unless it is a form
  repeatable?: boolean; // sending it twice has the effect of sending it once
  keyed?: boolean; // accepts an Idempotency-Key
}

/** The length of the window of the rate limit, in milliseconds. */
const maxDelay = 60_000;

/** A path with encoded values. The path of the number `export` would be that of the list as a file. */
export function path(parts: TemplateStringsArray, ...values: Array<string | number>): string {
  return String.raw(parts, ...values.map((value) => (value === "export" ? "%65xport" : encodeURIComponent(value))));
}

export class Transport {
  readonly #options: ClientOptions;
  readonly #headers: Record<string, string>;
  /** Begins the X-Request-Id of each request. */
  readonly #name = crypto.randomUUID() + "-";
  #sent = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    const runtime = typeof process === "undefined" ? "" : ` (node ${process.version}; ${process.platform}/${process.arch})`;
    this.#headers = {
      Authorization: `Bearer ${options.key}`,
      "User-Agent": `${options.userAgent ? options.userAgent + " " : ""}storeroom-typescript/${version}${runtime}`,
    };
  }

  protected async send(method: string, path: string, call: Call, options?: CallOptions): Promise<void> {
    await this.#repeat(method, path, call, options, (response) => response.arrayBuffer());
  }

  protected sendForBody<T>(method: string, path: string, call: Call, options?: CallOptions): Promise<T> {
    return this.#repeat(method, path, call, options, (response) => response.json() as Promise<T>) as Promise<T>;
  }

  protected async sendForData<T>(method: string, path: string, call: Call, options?: CallOptions): Promise<T> {
    return (await this.sendForBody<{ data: T }>(method, path, call, options)).data;
  }

  protected sendForFile(method: string, path: string, call: Call, options?: CallOptions): Promise<FileDownload> {
    const read = async (response: Response): Promise<FileDownload> => ({
      name: /filename="(.*?)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1],
      contentType: response.headers.get("Content-Type") ?? "",
      body: response.body!,
    });
    return this.#repeat(method, path, call, options, read) as Promise<FileDownload>;
  }

  /** Yields the elements of pages until there are no more. */
  protected async *pages<T>(
    parameter: "cursor" | "page" | "after" | "before", start: unknown,
    fetch: (at: any) => Promise<{ data: T[]; meta: object }>,
  ): AsyncGenerator<T, void, undefined> {
    let at: unknown = start ?? { cursor: "", page: 1, after: undefined, before: undefined }[parameter];
    for (let more = true; more; ) {
      const page = await fetch(at);
      const meta = page.meta as {
        next_cursor?: string | null; has_next?: boolean; has_more?: boolean; next_before?: string | null;
      };
      switch (parameter) {
        case "cursor":
          [at, more] = [meta.next_cursor, meta.next_cursor != null];
          break;
        case "page":
          [at, more] = [(at as number) + 1, meta.has_next === true];
          break;
        case "after":
          [at, more] = [meta.next_cursor, meta.has_more === true];
          break;
        case "before":
          [at, more] = [meta.next_before, meta.next_before != null];
      }
      yield* page.data;
    }
  }

  /**
   * Sends a request until it succeeds, until it must not be sent again, or until the last attempt. A failure to read the
   * response is one to send the request.
   */
  async #repeat<T>(
    method: string, path: string, call: Call, options: CallOptions | undefined, read: (response: Response) => Promise<T>,
  ): Promise<T | undefined> {
    const key = options?.idempotencyKey ?? (call.keyed ? crypto.randomUUID() : undefined);
    const headers = new Headers({ ...this.#headers, ...options?.headers });
    if (key !== undefined) headers.set("Idempotency-Key", key);
    let body: BodyInit | null = null;
    if (call.body instanceof FormData) {
      body = call.body;
    } else if (call.body !== undefined) {
      body = JSON.stringify(call.body);
      headers.set("Content-Type", "application/json");
    }
    const url = new URL(this.#options.url.replace(/\/+$/, "") + path);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    }
    let lost = false; // an earlier attempt may have been executed
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(method, url, { method, headers, body, redirect: "error" }, attempt, options, read);
      } catch (failure) {
        if (options?.signal?.aborted) throw options.signal.reason;
        const refused = failure instanceof StoreroomError ? failure : undefined;
        if (refused?.status === 404 && method === "DELETE" && lost) return undefined;
        const allowed = call.repeatable === true || key !== undefined;
        // With a lost response it is not known whether the object still matches.
        const again = refused ? refused.temporary && (refused.retryAfter ?? 0) <= maxDelay : method === "GET" || !headers.has("If-Match");
        if (attempt > (this.#options.retries ?? 4) || !allowed || !again) throw failure;
        lost ||= refused === undefined;
        await sleep(refused?.retryAfter ?? backOff(attempt), options?.signal);
      }
    }
  }

  async #attempt<T>(
    method: string, url: URL, request: RequestInit, attempt: number, options: CallOptions | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error("The attempt took too long.")), this.#options.timeout ?? 60_000);
    const signal = options?.signal ? AbortSignal.any([limit.signal, options.signal]) : limit.signal;
    const id = this.#name + ++this.#sent;
    const headers = new Headers({ "X-Request-Id": id });
    new Headers(request.headers).forEach((value, name) => headers.set(name, value));
    try {
      const response = await (this.#options.fetch ?? fetch)(url, { ...request, headers, signal });
      // The network can deliver a response twice. The service returns the id of the request.
      const answered = response.headers.get("X-Request-Id");
      if (answered?.startsWith(this.#name) && answered !== id) {
        await response.body?.cancel();
        throw new Error("the response is that of another request");
      }
      options?.onResponse?.({
        status: response.status, headers: response.headers, requestId: response.headers.get("X-Request-Id"),
        replayed: response.headers.get("Idempotent-Replayed") === "true", attempts: attempt,
      });
      if (response.status >= 300) throw StoreroomError.from(method, url.pathname, response, await response.text(), attempt);
      return await read(response);
    } catch (failure) {
      if (failure instanceof StoreroomError) throw failure;
      throw new StoreroomConnectionError(`${method} ${url.pathname}: ${describe(failure)}`, attempt, { cause: failure });
    } finally {
      clearTimeout(timer);
    }
  }
}

function describe(failure: unknown): string {
  const { message, cause } = failure as { message?: string; cause?: { message?: string } };
  return [message, cause?.message].filter(Boolean).join(": ");
}

/** A time that doubles with each attempt, of which a random half is left out, so that clients do not return together. */
function backOff(attempt: number): number {
  return Math.min(250 * 2 ** attempt, 8_000) * (1 - Math.random() / 2);
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
  });
}
