// Where a sign-in leads: a page of the console, never another site.

const CONSOLE = '/console/'
const MAXIMUM_CHARACTERS = 512
/** Any origin: it shows what a browser makes of a path. */
const ORIGIN = 'http://sidegate.invalid'

/** Returns the path as a browser requests it if it is below `/console/`, else `/console/`. */
export function returnPath(asked: string | null): string {
  if (asked === null || asked.length > MAXIMUM_CHARACTERS || !asked.startsWith(CONSOLE)) return CONSOLE
  const url = URL.parse(asked, ORIGIN)
  if (url === null || url.origin !== ORIGIN || !url.pathname.startsWith(CONSOLE)) return CONSOLE
  return `${url.pathname}${url.search}${url.hash}`
}
