// Loads answers of the API for a component, again at an interval, and after failures.

import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiFailure, apiEvents, callApi, isSignedOut, UnreachableError } from './gateway-api.ts'

/** Time between attempts while the gateway cannot answer, milliseconds. */
const RETRY_MS = 3000

export interface Resource<Answer> {
  /** The newest answer; null before the first. */
  readonly data: Answer | null
  /** Message of the newest failure; null after a success. */
  readonly failure: string | null
  reload(): void
}

/** 503 says that the same request can succeed later (RFC 9110 §15.6.4). */
const isTemporary = (error: unknown): boolean =>
  error instanceof UnreachableError || (error instanceof ApiFailure && error.status === 503)

interface Loaded<Answer> {
  readonly path: string
  readonly data: Answer | null
  readonly failure: string | null
}

/**
 * Loads a path below /api/v1. A failure keeps the last answer. A hidden page loads nothing at the
 * interval, and a page without a session nothing until somebody signs in.
 * @param path null to load nothing
 * @param version loads again when it changes
 */
export function useResource<Answer>(path: string | null, refreshMs?: number, version = ''): Resource<Answer> {
  const [loaded, setLoaded] = useState<Loaded<Answer> | null>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (path === null) return
    const aborted = new AbortController()
    let timer: number | undefined
    const load = async () => {
      let waitMs = refreshMs
      try {
        const data = await callApi<Answer>(path, { signal: aborted.signal })
        setLoaded({ path, data, failure: null })
      } catch (error) {
        if (aborted.signal.aborted) return
        if (isSignedOut()) return next()
        if (isTemporary(error)) waitMs = RETRY_MS
        const { message } = error as Error
        setLoaded((last) => ({ path, data: last?.path === path ? last.data : null, failure: message }))
      }
      if (waitMs !== undefined) timer = window.setTimeout(next, waitMs)
    }
    const next = () => {
      const once = { once: true, signal: aborted.signal }
      if (isSignedOut()) apiEvents.addEventListener('signed-in', next, once)
      else if (document.hidden) document.addEventListener('visibilitychange', next, once)
      else void load()
    }
    void load()
    return () => {
      aborted.abort()
      window.clearTimeout(timer)
    }
  }, [path, refreshMs, version, attempt])
  const reload = useCallback(() => setAttempt((count) => count + 1), [])
  const current = loaded?.path === path ? loaded : null
  return { data: current?.data ?? null, failure: current?.failure ?? null, reload }
}
