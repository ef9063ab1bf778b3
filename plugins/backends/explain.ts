/** What a provider refuses, with what to do about it: a key names its variable, an unknown model three that there are. */
import { type Backend, BackendError } from "#plugins/backends";

export interface Known {
  /** Models of this backend. */
  list: () => Promise<{ models: string[] }>;
  /** Variables that hold its key, best first. */
  credentials: readonly string[];
}

/**
 * Throws the error, or a better one in its place. `list` is asked only where it blames the model; where the list is empty,
 * or holds the model, the provider's own error stands.
 */
export function explainer(backend: Backend, { list, credentials }: Known) {
  return async (error: unknown): Promise<never> => {
    if (blamesKey(error, credentials)) throw better(error, `${error.message} (${advice(credentials)})`);
    if (!blamesModel(error)) throw error;
    const { models } = await list();
    if (models.length === 0 || models.includes(backend.model)) throw error;
    const more = models.length > 3 ? ` and ${models.length - 3} more` : "";
    const text = `${backend.name} does not know the model ${JSON.stringify(backend.model)}: it has ${nearest(models, backend.model).join(", ")}${more} (${error.message})`;
    throw better(error, text);
  };
}

const better = (error: BackendError, text: string): BackendError =>
  new BackendError(error.kind, text, { cause: error, ...(error.status ? { status: error.status } : {}) });

/** Those that we make ourselves name the variable. */
const blamesKey = (error: unknown, names: readonly string[]): error is BackendError =>
  error instanceof BackendError &&
  error.kind === "auth" &&
  names.length > 0 &&
  !names.some((name) => error.message.includes(name));

const advice = (names: readonly string[]): string => `check ${names.slice(0, 2).join(" or ")}, see docs/backends.md`;

function blamesModel(error: unknown): error is BackendError {
  if (!(error instanceof BackendError) || error.kind !== "badRequest") return false;
  return (
    error.status === 404 ||
    (/model/i.test(error.message) && /not.{0,20}(found|exist)|unknown|invalid/i.test(error.message))
  );
}

/** At most three names: those that share the longest beginning with `wanted` first, else in the list's order. */
export function nearest(names: readonly string[], wanted: string): string[] {
  const shared = (name: string) => {
    let n = 0;
    while (n < wanted.length && name[n] === wanted[n]) n++;
    return n;
  };
  return [...names].sort((a, b) => shared(b) - shared(a)).slice(0, 3);
}
