// Whether the gateway answers and who is signed in, found without a click: asks when nothing else
// has been answered for a while. The route needs no session, so that the log of a browser shows no
// error to a reader who is signed out.

import { useCallback, useEffect, useState } from 'preact/hooks'
import { announce, apiEvents, callApi, isSignedOut, lastAnswerMs } from './gateway-api.ts'
import type { SignInMethods } from './signed-in.ts'

/** Longest time without an answer before the page asks, milliseconds; also between attempts. */
const ASK_MS = 4000
/** The same while the gateway does not answer, or somebody is to sign in. */
const WAITING_MS = 2000

export interface Presence {
  /** The newest answer; null before the first. */
  readonly methods: SignInMethods | null
  /** Whether the newest call was answered. */
  readonly isReachable: boolean
  /** Whether the session that the page was opened with is over, and nobody signed in since. */
  readonly isOver: boolean
  /** Takes over who is signed in now; null after a sign-out. */
  setSession(session: SignInMethods['session']): void
}

export function usePresence(): Presence {
  const [methods, setMethods] = useState<SignInMethods | null>(null)
  const [isReachable, setReachable] = useState(true)
  const [isOver, setOver] = useState(false)
  const ask = useCallback(async () => {
    // A failure is an event, too.
    const answer = await callApi<SignInMethods>('/session/methods').catch(() => null)
    if (answer === null) return
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
    const everyMs = isReachable && !isOver ? ASK_MS : WAITING_MS
    const look = () => {
      if (document.hidden) return
      if (isReachable && !isOver && performance.now() - lastAnswerMs() < ASK_MS) return
      void ask()
    }
    const timer = setInterval(look, everyMs)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [ask, isReachable, isOver])
  const setSession = useCallback((session: SignInMethods['session']) => {
    setMethods((last) => last && { ...last, session })
    announce(session === null ? 'signed-out' : 'signed-in')
  }, [])
  return { methods, isReachable, isOver, setSession }
}
