// A client of the Storeroom API. Fields and values that a later release adds are ignored. Money is text, so that no
// digit is lost.
import { Operations, type Change, type ChangeType, type Image, type Import, type ImportSettings, type PlanResult } from "./generated.js";
import { path, sleep, type CallOptions, type FileDownload } from "./transport.js";

export * from "./generated.js";
export { StoreroomConnectionError, StoreroomError } from "./errors.js";
export { version, type CallOptions, type ClientOptions, type FileDownload, type ResponseInfo } from "./transport.js";
export { InvalidSignatureError, verifyWebhook } from "./webhooks.js";

/** A file to send. */
export interface Upload {
  name: string;
  content: Blob;
}

export class Storeroom extends Operations {
  /** Uploads a picture of a product. */
  addImageFile(id: number, picture: Upload, options?: CallOptions): Promise<Image> {
    return this.sendForData("POST", path`/api/products/${id}/images/file`, { body: form([picture]), keyed: true }, options);
  }

  /** Uploads files, and computes in the background what they would change. */
  createImport(files: Upload[], settings?: ImportSettings, options?: CallOptions): Promise<Import> {
    return this.sendForData("POST", "/api/imports", { body: form(files, { settings }), keyed: true }, options);
  }

  /**
   * Requests a plan until it is no longer planning, applying or undoing. A program that was started again can continue to
   * wait, because the plan is computed in the background.
   */
  waitForPlan(id: number, options?: CallOptions): Promise<PlanResult> {
    return wait(() => this.showPlan(id, {}, options), (plan) => plan.data.state, options?.signal);
  }

  /** Does the same for an import. */
  waitForImport(id: number, options?: CallOptions): Promise<Import> {
    return wait(() => this.showImport(id, options), (shown) => shown.state, options?.signal);
  }

  /**
   * The changes after a cursor: that of an earlier Feed, "" for the oldest change, or "now" for those that follow.
   * Without types it has all types that the key may read.
   */
  followChanges(cursor: string, types: ChangeType[] = [], options?: CallOptions): Feed {
    return new Feed(this, cursor, types, options);
  }
}

/** Yields changes, and waits for new ones. After an error it can be iterated again, and continues. */
export class Feed implements AsyncIterable<Change> {
  readonly #client: Storeroom;
  readonly #types: string | undefined;
  readonly #options: CallOptions | undefined;
  /**
   * The position after the last change that was yielded. Store it with what you made of the change. A new feed with this
   * cursor continues there, also in another process.
   */
  cursor: string;

  constructor(client: Storeroom, cursor: string, types: ChangeType[], options?: CallOptions) {
    this.#client = client;
    this.#types = types.length > 0 ? types.join(",") : undefined;
    this.#options = options;
    this.cursor = cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, undefined> {
    for (;;) {
      const page = await this.#client.listChanges({ after: this.cursor, types: this.#types, wait: 25 }, this.#options);
      for (const change of page.data) {
        this.cursor = change.seq;
        yield change;
      }
      this.cursor = page.meta.next_cursor;
    }
  }
}

/** Decodes the lines of an NDJSON file while it arrives. A file that ends too early is an error. */
export async function* lines<T>(file: FileDownload): AsyncGenerator<T, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of file.body) {
    const complete = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = complete.pop()!;
    for (const line of complete) yield JSON.parse(line) as T;
  }
  if (rest !== "") yield JSON.parse(rest) as T;
}

function form(files: Upload[], fields: Record<string, unknown> = {}): FormData {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) body.append(name, JSON.stringify(value));
  }
  for (const file of files) body.append("file", file.content, file.name);
  return body;
}

async function wait<T>(show: () => Promise<T>, state: (shown: T) => string, signal?: AbortSignal): Promise<T> {
  for (let pause = 100; ; pause = Math.min(2 * pause, 5_000)) {
    const shown = await show();
    if (!["planning", "applying", "undoing"].includes(state(shown))) return shown;
    await sleep(pause, signal);
  }
}
