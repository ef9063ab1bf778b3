/** What others may import of the sandbox: profiles, the rules that they come to, and programs that enforce rules. */
export { bwrapProbe, bwrapWords, hookFolders, rulesInside } from "./bwrap.ts";
export { landrunProbe, landrunWords, steersLoader } from "./landrun.ts";
export { type Loaded, type ProfileStore, profileStore } from "./load.ts";
export { nodeDirs, type PlaceholderContext, realPath } from "./paths.ts";
export type { Profile } from "./profile.ts";
export { resolveRules } from "./resolve.ts";
export * from "./rules.ts";
export { type Sight, sight } from "./sight.ts";
