/** What confines here, for tests that need it. What can not be tested is printed, never passed over in silence. */
import { findProvider } from "../../../plugins/toolsrv/provider.ts";

const works = async (provider: "landlock" | "bwrap"): Promise<boolean> => {
  const { provider: found, why } = await findProvider(provider, { env: process.env, native: true });
  if (found === undefined) console.warn(`NOT TESTED here: ${why}`);
  return found !== undefined;
};

export const here = { landlock: await works("landlock"), bwrap: await works("bwrap") };
