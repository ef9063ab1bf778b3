/** A response in the shape of `fetch`. What costs (Headers, web streams) is made when it is asked for. */
import type { Body } from "./http-body.ts";

const bodies = new WeakMap<object, Body>();

/** The pieces of a body, one reader. Of our own responses they come without a web stream in between. */
export function bodyBytes(response: Response): AsyncIterable<Uint8Array> {
  return bodies.get(response) ?? (response.body as AsyncIterable<Uint8Array> | null) ?? none();
}

async function* none(): AsyncGenerator<Uint8Array> {}

/** What comes before a body. `fields`: names in lower case. */
export interface Head {
  status: number;
  statusText: string;
  fields: Record<string, string | string[] | undefined>;
}

export function responseOf(url: URL, { status, statusText, fields }: Head, body: Body): Response {
  let headers: Headers | undefined;
  let stream: ReadableStream<Uint8Array> | undefined;

  async function all(): Promise<Buffer> {
    if (body.used) throw new TypeError("http: the body was read already");
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  const text = async () => new TextDecoder().decode(await all());

  const response = {
    url: url.href,
    status,
    statusText,
    ok: status >= 200 && status < 300,
    redirected: false,
    type: "basic" as const,
    get headers() {
      headers ??= headersOf(fields);
      return headers;
    },
    get body() {
      stream ??= webStream(body);
      return stream;
    },
    get bodyUsed() {
      return body.used;
    },
    text,
    json: async () => JSON.parse(await text()),
    bytes: all,
    async arrayBuffer() {
      const { buffer, byteOffset, byteLength } = await all();
      return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
    },
    blob: async () => new Blob([await text()]),
    clone: () => refuse("clone"),
    formData: () => refuse("formData"),
  };
  bodies.set(response, body);
  return response as unknown as Response;
}

function refuse(what: string): never {
  throw new TypeError(`http: ${what} of a response is not offered`);
}

function headersOf(fields: Head["fields"]): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(fields))
    for (const value of [values].flat()) headers.append(name, value);
  return headers;
}

const webStream = (body: Body): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await body.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await body.return();
      },
    },
    { highWaterMark: 0 },
  );
