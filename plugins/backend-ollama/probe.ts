/** Whether an Ollama answers at all: asked quickly, and not each time. */

/** Milliseconds: the longest wait for an answer, and how long it is kept. */
const limit = 250;
const keep = { yes: 60_000, no: 5_000 };

export function prober(now: () => number = () => performance.now()) {
  let last: { url: string; answers: Promise<boolean>; until: number } | undefined;
  /** Never throws. */
  return (url: string): Promise<boolean> => {
    if (last?.url === url && now() < last.until) return last.answers;
    const mine = { url, answers: answers(url), until: Number.POSITIVE_INFINITY };
    last = mine;
    mine.answers.then((yes) => {
      mine.until = now() + (yes ? keep.yes : keep.no);
    });
    return mine.answers;
  };
}

/** By node:http, which is there sooner than the client under backends; a local server needs no proxy. */
async function answers(url: string): Promise<boolean> {
  const { request } = await import("node:http");
  return new Promise((resolve) => {
    try {
      const asked = request(`${url}/api/version`, { agent: false, timeout: limit });
      const timer = setTimeout(() => asked.destroy(), limit);
      asked.on("response", (answer) => {
        resolve(answer.statusCode === 200);
        answer.destroy();
      });
      asked.on("error", () => resolve(false));
      asked.on("close", () => {
        clearTimeout(timer);
        resolve(false);
      });
      asked.end();
    } catch {
      resolve(false); // https, which is not probed
    }
  });
}
