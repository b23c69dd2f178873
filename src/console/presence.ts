// Whether the gateway answers and who is signed in, found without a click: asks when nothing else
// has been answered for a while. The route needs no session, so that the log of a browser shows no
// error to a reader who is signed out.

import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiFailure, announce, apiEvents, callApi, isSignedOut, lastAnswerMs } from './gateway-api.ts'
import type { SignInMethods } from './signed-in.ts'

/** Longest time without an answer before the page asks, milliseconds; also between attempts. */
const ASK_MS = 4000
/** The same while the gateway does not answer, or somebody is to sign in. */
const WAITING_MS = 2000

export interface Presence {
  /** The newest answer; null before the first. */
  readonly methods: SignInMethods | null
  /** Why the newest question had no answer, as the gateway says; null after an answer. */
  readonly failure: string | null
  /** Whether the newest call was answered. */
  readonly isReachable: boolean
  /** Whether the session that the page was opened with is over, and nobody signed in since. */
  readonly isOver: boolean
  /** Takes over who is signed in now; null after a sign-out. */
  setSession(session: SignInMethods['session']): void
}

export function usePresence(): Presence {
  const [methods, setMethods] = useState<SignInMethods | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [isReachable, setReachable] = useState(true)
  const [isOver, setOver] = useState(false)
  const ask = useCallback(async () => {
    const answer = await callApi<SignInMethods>('/session/methods').catch((error: Error) => {
      // No answer at all is an event, too.
      setFailure(error instanceof ApiFailure ? error.message : null)
      return null
    })
    if (answer === null) return
    setFailure(null)
    if (answer.session === null) {
      setMethods((last) => (last === null ? answer : { ...answer, session: last.session }))
      announce('signed-out')
    } else {
      setMethods(answer)
      if (isSignedOut()) announce('signed-in')
    }
  }, [])
  useEffect(() => {
    const listeners = {
      'signed-out': () => setOver(true),
      'signed-in': () => setOver(false),
      unreachable: () => setReachable(false),
      reachable: () => setReachable(true),
    }
    for (const [type, listener] of Object.entries(listeners)) apiEvents.addEventListener(type, listener)
    void ask()
    return () => {
      for (const [type, listener] of Object.entries(listeners)) apiEvents.removeEventListener(type, listener)
    }
  }, [ask])
  useEffect(() => {
    const isWell = isReachable && !isOver && failure === null
    const everyMs = isWell ? ASK_MS : WAITING_MS
    const look = () => {
      if (document.hidden) return
      if (isWell && performance.now() - lastAnswerMs() < ASK_MS) return
      void ask()
    }
    const timer = setInterval(look, everyMs)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [ask, isReachable, isOver, failure])
  const setSession = useCallback((session: SignInMethods['session']) => {
    setMethods((last) => last && { ...last, session })
    announce(session === null ? 'signed-out' : 'signed-in')
  }, [])
  return { methods, failure, isReachable, isOver, setSession }
}
