// The frame of every page: sign-in, navigation, the state of the connection.

import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiFailure, apiEvents, callApi } from './gateway-api.ts'
import { AuditPage } from './pages/audit-page.tsx'
import { KeysPage } from './pages/keys-page.tsx'
import { LogPage } from './pages/log-page.tsx'
import { OverviewPage } from './pages/overview-page.tsx'
import { RulesPage } from './pages/rules-page.tsx'
import { SecurityPage } from './pages/security-page.tsx'
import { UsagePage } from './pages/usage-page.tsx'
import { BASE, go, usePlace } from './place.ts'
import { SignIn } from './sign-in.tsx'
import { type ConsoleSession, SessionContext } from './signed-in.ts'

const PAGES = [
  { name: 'overview', title: 'Overview', Page: OverviewPage },
  { name: 'log', title: 'Usage log', Page: LogPage },
  { name: 'security', title: 'Security', Page: SecurityPage },
  { name: 'rules', title: 'Rules', Page: RulesPage },
  { name: 'keys', title: 'Keys', Page: KeysPage },
  { name: 'usage', title: 'Usage & cost', Page: UsagePage },
  { name: 'audit', title: 'Audit', Page: AuditPage },
] as const

/** Time between attempts to reach the gateway, milliseconds. */
const RETRY_MS = 2000

/** `unknown` until the gateway has said who is signed in. */
type SignInState = ConsoleSession | 'unknown' | 'signed out'

export function Shell() {
  const place = usePlace()
  const [session, setSession] = useState<SignInState>('unknown')
  const isReachable = useReachable()
  const load = useCallback(async () => {
    try {
      setSession(await callApi<ConsoleSession>('/session'))
    } catch (error) {
      if (error instanceof ApiFailure) setSession('signed out')
    }
  }, [])
  useEffect(() => {
    if (isReachable) void load()
  }, [isReachable, load])
  useEffect(() => {
    const signOut = () => setSession('signed out')
    apiEvents.addEventListener('signed-out', signOut)
    return () => apiEvents.removeEventListener('signed-out', signOut)
  }, [])
  const name = place.pathname.slice(BASE.length)
  const page = PAGES.find((one) => one.name === name)
  useEffect(() => {
    if (name === '') go(`${BASE}overview`, { replace: true })
    document.title = page === undefined ? 'Sidegate' : `${page.title} – Sidegate`
  }, [name, page])
  return (
    <>
      {isReachable ? null : (
        <p class="banner" role="alert">
          The gateway does not answer. What you see may be old; the page tries again every few seconds.
        </p>
      )}
      {session === 'unknown' ? (
        <main class="centered" aria-busy="true">
          <p>{isReachable ? 'Loading…' : 'Waiting for the gateway…'}</p>
        </main>
      ) : session === 'signed out' ? (
        <SignIn onSignedIn={setSession} returnTo={place.pathname + place.search} />
      ) : (
        <SessionContext.Provider value={session}>
          <Header session={session} current={name} onSignedOut={() => setSession('signed out')} />
          <main id="content" tabIndex={-1}>
            {page === undefined ? <NotFound /> : <page.Page key={page.name} />}
          </main>
        </SessionContext.Provider>
      )}
    </>
  )
}

const NotFound = () => (
  <section>
    <h1>No such page</h1>
    <p>
      The console has no page here. <a href={`${BASE}overview`}>Go to the overview.</a>
    </p>
  </section>
)

interface HeaderProps {
  readonly session: ConsoleSession
  /** Name of the page shown. */
  readonly current: string
  readonly onSignedOut: () => void
}

function Header({ session, current, onSignedOut }: HeaderProps) {
  const signOut = async () => {
    await callApi('/session', { method: 'DELETE' }).catch(() => {})
    onSignedOut()
  }
  return (
    <header class="top">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <strong class="brand">Sidegate</strong>
      <nav aria-label="Pages">
        <ul>
          {PAGES.map(({ name, title }) => (
            <li key={name}>
              <a href={BASE + name} aria-current={name === current ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="who">
        <span>
          {session.name} <span class="tag">{session.role}</span>
        </span>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </div>
    </header>
  )
}

/** Whether the newest call was answered. While it was not, asks again every RETRY_MS. */
function useReachable(): boolean {
  const [isReachable, setReachable] = useState(true)
  useEffect(() => {
    const lost = () => setReachable(false)
    const found = () => setReachable(true)
    apiEvents.addEventListener('unreachable', lost)
    apiEvents.addEventListener('reachable', found)
    return () => {
      apiEvents.removeEventListener('unreachable', lost)
      apiEvents.removeEventListener('reachable', found)
    }
  }, [])
  useEffect(() => {
    if (isReachable) return
    const timer = setInterval(() => void callApi('/session').catch(() => {}), RETRY_MS)
    return () => clearInterval(timer)
  }, [isReachable])
  return isReachable
}
