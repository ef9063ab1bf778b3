/** What others may import of the sandbox's profiles. */
export { type Loaded, type ProfileStore, profileStore } from "./load.ts";
export { type PlaceholderContext, realPath } from "./paths.ts";
export type { Profile } from "./profile.ts";
export { resolveRules } from "./resolve.ts";
export { canWrite, type Grant, isInside, type Mode, mayWrite, type Network, type Rules, widerThan } from "./rules.ts";
