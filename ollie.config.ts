/** What olliesrv runs with where the user has no ollie.config.ts of their own. */
export default {};
