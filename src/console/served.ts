// Which pages and parts the program that served the console has the API for: a gateway has others
// than a hub.

import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

/** The part of `GET /api/v1/status` that every program answers. */
export interface ServedStatus {
  readonly serves: readonly string[]
}

export const ServedContext = createContext<readonly string[]>([])

/** Reports whether a part of a page can be shown. */
export const useServes = (name: string): boolean => useContext(ServedContext).includes(name)
