// Where the reader is: the address of the page, changed by links and by code, without loading the
// page again.

import { useEffect, useState } from 'preact/hooks'

/** Path of the console: that of its script, because a proxy may serve it below another path. */
export const BASE = new URL('./', import.meta.url).pathname
/** Path of the management API. */
export const API = `${BASE.slice(0, -'/console/'.length)}/api/v1`
const MOVED = 'console-moved'

/** Goes to an address below BASE. @param replace leaves no step in the history */
export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  window.dispatchEvent(new Event(MOVED))
}

/** Returns the address, and renders again when it changes. */
export function usePlace(): URL {
  const [href, setHref] = useState(location.href)
  useEffect(() => {
    const update = () => setHref(location.href)
    window.addEventListener('popstate', update)
    window.addEventListener(MOVED, update)
    return () => {
      window.removeEventListener('popstate', update)
      window.removeEventListener(MOVED, update)
    }
  }, [])
  return new URL(href)
}

/** Makes plain clicks on links below BASE go there without loading. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href]')
    if (link === null || event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const isOwn = link.origin === location.origin && link.pathname.startsWith(BASE)
    if (!isOwn || link.target !== '' || link.hasAttribute('download')) return
    event.preventDefault()
    go(link.href)
  })
}
