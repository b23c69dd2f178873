// The frame of every page: sign-in, navigation, the state of the connection.

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { callApi } from './gateway-api.ts'
import { AuditPage } from './pages/audit-page.tsx'
import { FleetPage } from './pages/fleet-page.tsx'
import { KeyPage } from './pages/key-page.tsx'
import { KeysPage } from './pages/keys-page.tsx'
import { LogPage } from './pages/log-page.tsx'
import { OverviewPage } from './pages/overview-page.tsx'
import { RulesPage } from './pages/rules-page.tsx'
import { SecurityPage } from './pages/security-page.tsx'
import { SettingsPage } from './pages/settings-page.tsx'
import { UsagePage } from './pages/usage-page.tsx'
import { ErrorBoundary, UncaughtError } from './parts/error-boundary.tsx'
import { Select } from './parts/select.tsx'
import { Inert, LoadState } from './parts/text.tsx'
import { BASE, go, usePlace } from './place.ts'
import { usePresence } from './presence.ts'
import { useResource } from './resource.ts'
import { ServedContext, type ServedStatus } from './served.ts'
import { SignInDialog, SignInPage } from './sign-in.tsx'
import { type ConsoleSession, SessionContext } from './signed-in.ts'
import { Unconfirmed } from './unconfirmed.tsx'
import { useChosenZone, ZONES, ZoneContext } from './zone.ts'

const PAGES = [
  { name: 'overview', title: 'Overview', Page: OverviewPage },
  { name: 'log', title: 'Usage log', Page: LogPage },
  { name: 'security', title: 'Security', Page: SecurityPage },
  { name: 'rules', title: 'Rules', Page: RulesPage },
  { name: 'keys', title: 'Keys', Page: KeysPage, One: KeyPage },
  { name: 'usage', title: 'Usage & cost', Page: UsagePage },
  { name: 'audit', title: 'Audit', Page: AuditPage },
  { name: 'fleet', title: 'Fleet', Page: FleetPage },
  { name: 'settings', title: 'Settings', Page: SettingsPage },
] as const

/** The page, or the page of one thing of it. @param id encoded */
const pageOf = (page: (typeof PAGES)[number], id: string) =>
  id !== '' && 'One' in page ? <page.One id={decodeURIComponent(id)} /> : <page.Page />

export function Shell() {
  const place = usePlace()
  const { methods, failure, isReachable, isOver, setSession } = usePresence()
  const [zone, chooseZone] = useChosenZone()
  const [name = '', id = '', ...rest] = place.pathname.slice(BASE.length).split('/')
  const page =
    rest.length === 0 ? PAGES.find((one) => one.name === name && (id === '' || 'One' in one)) : undefined
  useEffect(() => {
    if (name === '') go(`${BASE}overview`, { replace: true })
    document.title = page === undefined ? 'Sidegate' : `${page.title} – Sidegate`
  }, [name, page])
  const session = methods?.session ?? null
  return (
    <ZoneContext.Provider value={zone}>
      {isReachable ? null : (
        <p class="banner" role="alert">
          The gateway does not answer. What you see may be old; the page tries again every few seconds.
        </p>
      )}
      <UncaughtError />
      {methods === null ? (
        <main class="centered" aria-busy="true">
          {isReachable && failure !== null ? (
            <>
              <h1>Sidegate</h1>
              <p class="failure" role="alert">
                <Inert text={failure} /> The page tries again every few seconds.
              </p>
            </>
          ) : (
            <p>{isReachable ? 'Loading…' : 'Waiting for the gateway…'}</p>
          )}
        </main>
      ) : session === null ? (
        <SignInPage methods={methods} onSignedIn={setSession} returnTo={place.pathname + place.search} />
      ) : (
        // Another person begins anew.
        <SessionContext.Provider key={`${session.role} ${session.name}`} value={session}>
          <SignedIn page={page} name={name} id={id} session={session} onSignedOut={() => setSession(null)}>
            <label class="zone-choice">
              Times in <Select options={ZONE_OPTIONS} value={zone} onSelect={chooseZone} />
            </label>
          </SignedIn>
          {isOver ? <SignInDialog methods={methods} onSignedIn={setSession} /> : null}
        </SessionContext.Provider>
      )}
    </ZoneContext.Provider>
  )
}

interface SignedInProps extends Omit<HeaderProps, 'current' | 'serves'> {
  /** Undefined at an address without one. */
  readonly page: (typeof PAGES)[number] | undefined
  /** Its name and the id of its thing, as the address has them. */
  readonly name: string
  readonly id: string
}

/** Shows no page before it is known which ones the program has the API for. */
function SignedIn({ page, name, id, ...props }: SignedInProps) {
  const status = useResource<ServedStatus>('/status')
  const serves = status.data?.serves ?? []
  return (
    <ServedContext.Provider value={serves}>
      <Header {...props} current={name} serves={serves} />
      <Unconfirmed />
      <main id="content" tabIndex={-1}>
        <LoadState resource={status}>
          <ErrorBoundary key={`${name}/${id}`}>
            {page === undefined || !serves.includes(page.name) ? <NotFound /> : pageOf(page, id)}
          </ErrorBoundary>
        </LoadState>
      </main>
    </ServedContext.Provider>
  )
}

const ZONE_OPTIONS = ZONES.map((value) => ({ value, title: value.replaceAll('_', ' ') }))

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
  /** Names of the pages that can be shown. */
  readonly serves: readonly string[]
  readonly onSignedOut: () => void
  readonly children: ComponentChildren
}

/** One line; on narrow screens all but the name of the page is behind a button. */
function Header({ session, current, serves, onSignedOut, children }: HeaderProps) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [current])
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
      <button
        type="button"
        class="menu"
        aria-expanded={isOpen}
        aria-controls="menu"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <div id="menu" class={isOpen ? 'bar open' : 'bar'}>
        <nav aria-label="Pages">
          <ul>
            {PAGES.filter(({ name }) => serves.includes(name)).map(({ name, title }) => (
              <li key={name}>
                <a href={BASE + name} aria-current={name === current ? 'page' : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {children}
        <div class="who">
          <span>
            <Inert text={session.name} /> <span class="tag">{session.role}</span>
          </span>
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        </div>
      </div>
    </header>
  )
}
