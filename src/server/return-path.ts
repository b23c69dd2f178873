// Where a sign-in leads: a page of the console, never another site.

const CONSOLE = '/console/'
const MAXIMUM_CHARACTERS = 512
/** Any origin: it shows what a browser makes of a path. */
const ORIGIN = 'http://sidegate.invalid'

/**
 * Returns the path as a browser requests it if it is below `/console/`, else `/console/`.
 * @param base path below which browsers see the gateway
 */
export function returnPath(asked: string | null, base = ''): string {
  const home = base + CONSOLE
  if (asked === null || asked.length > MAXIMUM_CHARACTERS || !asked.startsWith(home)) return home
  const url = URL.parse(asked, ORIGIN)
  if (url === null || url.origin !== ORIGIN || !url.pathname.startsWith(home)) return home
  return `${url.pathname}${url.search}${url.hash}`
}
