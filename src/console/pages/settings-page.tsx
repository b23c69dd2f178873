// The gateway as it is set up: who is signed in, prices and models without one, upstreams, and the
// configuration in force.

import { useState } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import type { ReportAnswer } from '../api-key.ts'
import { showCount } from '../display.ts'
import { callApi } from '../gateway-api.ts'
import { logHref } from '../log-address.ts'
import { DataTable, type TableColumn } from '../parts/data-table.tsx'
import { ActionForm, Dialog } from '../parts/dialog.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { useResource } from '../resource.ts'
import { useMay } from '../signed-in.ts'

const REFRESH_MS = 10_000

/** An item of `settings` in an answer of `GET /api/v1/config`. */
interface Setting {
  readonly path: string
  readonly value: unknown
  readonly description: string | null
  readonly is_default: boolean
  readonly needs_restart: boolean
}

interface Configuration {
  readonly settings: readonly Setting[]
  readonly file: {
    readonly changed: boolean
    readonly needs_reload: readonly string[]
    readonly needs_restart: readonly string[]
    readonly errors: readonly string[]
  }
}

export function SettingsPage() {
  const mayReadConfiguration = useMay('auditor')
  const mayEndSessions = useMay('admin')
  const config = useResource<Configuration>(mayReadConfiguration ? '/config' : null, REFRESH_MS)
  return (
    <>
      <header class="page-head">
        <h1>Settings</h1>
      </header>
      {mayReadConfiguration ? <Administrators config={config.data} /> : null}
      {mayEndSessions ? (
        <Sessions />
      ) : (
        <p class="muted">Sessions are shown to the role admin, the configuration to auditors and above.</p>
      )}
      <Prices />
      <Upstreams config={config.data} />
      {mayReadConfiguration ? (
        <section aria-labelledby="config-title">
          <h2 id="config-title">Configuration in force</h2>
          <LoadState resource={config}>
            {config.data === null ? null : <Settings config={config.data} />}
          </LoadState>
        </section>
      ) : null}
    </>
  )
}

/** The value of a setting; undefined for one that is not set. */
const settingOf = (config: Configuration | null, path: string): unknown =>
  config?.settings.find((one) => one.path === path)?.value

const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value : []

function Administrators({ config }: { readonly config: Configuration | null }) {
  if (config === null) return null
  const tokens = listOf(settingOf(config, 'admin.tokens'))
  const hasToken = config.settings.some(
    ({ path }) => path === 'admin.token' || path.startsWith('admin.token.'),
  )
  const oidc = settingOf(config, 'admin.oidc') as Readonly<Record<string, unknown>> | undefined
  const roles = Object.entries((oidc?.['roles'] ?? {}) as Readonly<Record<string, string>>)
  const rows = [
    ...(hasToken ? [{ who: 'admin', role: 'admin', how: 'token' }] : []),
    ...tokens.map(({ name, role }) => ({ who: String(name), role: String(role), how: 'token' })),
    ...roles.map(([group, role]) => ({ who: `group ${group}`, role, how: 'single sign-on' })),
  ]
  return (
    <section aria-labelledby="admins-title">
      <h2 id="admins-title">Administrators</h2>
      {rows.length === 0 ? (
        <p class="empty">Nobody can sign in.</p>
      ) : (
        <DataTable
          label="List of administrators"
          columns={[
            { title: 'Who', cell: ({ who }) => <Inert text={who} /> },
            { title: 'Role', cell: ({ role }) => <span class="tag">{role}</span> },
            { title: 'Signs in by', cell: ({ how }) => how },
          ]}
          rows={rows}
          keyOf={({ who, how }) => `${how} ${who}`}
        />
      )}
    </section>
  )
}

interface ListedSession {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly via: string
  readonly created_at: string
  readonly expires_at: string
  readonly current: boolean
}

function Sessions() {
  const list = useResource<{ readonly sessions: readonly ListedSession[] }>('/sessions', REFRESH_MS)
  const [ended, setEnded] = useState<ListedSession | null>(null)
  const columns: readonly TableColumn<ListedSession>[] = [
    {
      title: 'Who',
      cell: ({ name, current }) => (
        <>
          <Inert text={name} /> {current ? <span class="tag">this session</span> : null}
        </>
      ),
    },
    { title: 'Role', cell: ({ role }) => <span class="tag">{role}</span> },
    { title: 'Signed in by', cell: ({ via }) => (via === 'oidc' ? 'single sign-on' : via) },
    { title: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
    { title: 'Ends', cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: 'Change',
      cell: (session) => (
        <button
          type="button"
          aria-label={`End the session of ${visible(session.name)}`}
          onClick={() => setEnded(session)}
        >
          End
        </button>
      ),
    },
  ]
  const close = () => {
    setEnded(null)
    list.reload()
  }
  return (
    <section aria-labelledby="sessions-title">
      <h2 id="sessions-title">Sessions</h2>
      <LoadState resource={list}>
        <DataTable
          label="Open sessions"
          columns={columns}
          rows={list.data?.sessions ?? []}
          keyOf={({ id }) => id}
        />
      </LoadState>
      {ended === null ? null : <EndSessionDialog session={ended} onClose={close} />}
    </section>
  )
}

interface EndSessionDialogProps {
  readonly session: ListedSession
  readonly onClose: () => void
}

function EndSessionDialog({ session, onClose }: EndSessionDialogProps) {
  const send = async () => {
    await callApi(`/sessions/${encodeURIComponent(session.id)}`, { method: 'DELETE' })
    onClose()
  }
  return (
    <Dialog title="End a session" onClose={onClose}>
      <ActionForm action="End the session" isDangerous fields={[]} send={send}>
        {() => (
          <p>
            <strong>
              <Inert text={session.name} />
            </strong>{' '}
            must sign in again{session.current ? '. This is your own session.' : '.'}
          </p>
        )}
      </ActionForm>
    </Dialog>
  )
}

/** Prices of a million tokens, in USD. */
interface TokenPrices {
  readonly input: number
  readonly cached_input: number
  readonly cache_write: number
  readonly cache_write_1h: number
  readonly audio_input: number
  readonly output: number
  readonly reasoning: number
  readonly audio_output: number
}

interface TierPrices extends TokenPrices {
  readonly above: (TokenPrices & { readonly tokens: number }) | null
}

interface PriceLine extends TierPrices {
  readonly model: string
  readonly tiers: Readonly<Record<string, TierPrices>>
  readonly request: number
  readonly image: number
}

interface PriceList {
  readonly revision: string | null
  readonly prices: readonly PriceLine[]
  readonly problems: readonly { readonly text: string }[]
}

const price = (usd: number): string => `$${usd}`

/** What each price is where the file does not set it. */
const USUAL: readonly (readonly [keyof TokenPrices, keyof TokenPrices])[] = [
  ['cache_write', 'input'],
  ['cache_write_1h', 'cache_write'],
  ['audio_input', 'input'],
  ['reasoning', 'output'],
  ['audio_output', 'output'],
]

/** The prices that differ from those that the other columns say. */
const unusual = (prices: TokenPrices): string[] =>
  USUAL.filter(([name, usual]) => prices[name] !== prices[usual]).map(
    ([name]) => `${name.replaceAll('_', ' ')} ${price(prices[name])}`,
  )

const allOf = (prices: TokenPrices): string =>
  [
    `input ${price(prices.input)}`,
    `cached ${price(prices.cached_input)}`,
    `output ${price(prices.output)}`,
    ...unusual(prices),
  ].join(', ')

const aboveOf = ({ above }: TierPrices): string[] =>
  above === null ? [] : [`above ${showCount(above.tokens)} tokens of prompt: ${allOf(above)}`]

/** What a line sets besides the prices of columns of their own. */
const besides = (line: PriceLine): string[] => [
  ...(line.request === 0 ? [] : [`each call ${price(line.request)}`]),
  ...(line.image === 0 ? [] : [`each image ${price(line.image)}`]),
  ...unusual(line),
  ...aboveOf(line),
  ...Object.entries(line.tiers).map(([name, tier]) =>
    [`tier ${name}: ${allOf(tier)}`, ...aboveOf(tier)].join(', '),
  ),
]

const PRICE_COLUMNS: readonly TableColumn<PriceLine>[] = [
  {
    title: 'Model',
    cell: ({ model }) => (
      <code>
        <Inert text={model} />
      </code>
    ),
  },
  { title: 'Input', look: 'number', cell: ({ input }) => price(input) },
  { title: 'Cached input', look: 'number', cell: ({ cached_input }) => price(cached_input) },
  { title: 'Output', look: 'number', cell: ({ output }) => price(output) },
  { title: 'Besides', look: 'wide', cell: (line) => <Inert text={besides(line).join('; ')} /> },
]

function Prices() {
  const prices = useResource<PriceList>('/prices', REFRESH_MS)
  const models = useResource<ReportAnswer>('/usage/report?group_by=model')
  const unpriced = models.data?.rows.filter(({ unpriced_requests }) => unpriced_requests > 0) ?? []
  const { data } = prices
  return (
    <section aria-labelledby="prices-title">
      <h2 id="prices-title">Prices</h2>
      <LoadState resource={prices}>
        {data?.problems.map(({ text }) => (
          <p key={text} class="failure">
            <Inert text={text} />
          </p>
        ))}
        {unpriced.length === 0 ? null : (
          <>
            <p class="failure">Models that were called this month and have no price:</p>
            <ul>
              {unpriced.map((row) => (
                <li key={String(row['model'])}>
                  <a href={logHref({ model: String(row['model']) })}>
                    <Inert text={String(row['model'])} />
                  </a>{' '}
                  {showCount(row.unpriced_requests)} calls
                </li>
              ))}
            </ul>
          </>
        )}
        {data === null ? null : data.prices.length === 0 ? (
          <p class="empty">There are no prices; set prices.path in the configuration.</p>
        ) : (
          <details>
            <summary>
              {showCount(data.prices.length)} prices in USD for a million tokens, revision{' '}
              <code>{data.revision ?? '–'}</code>
            </summary>
            <DataTable
              label="List of prices"
              columns={PRICE_COLUMNS}
              rows={data.prices}
              keyOf={({ model }) => model}
            />
          </details>
        )}
      </LoadState>
    </section>
  )
}

interface UpstreamState {
  readonly name: string
  readonly open: boolean
}

function Upstreams({ config }: { readonly config: Configuration | null }) {
  const status = useResource<{ readonly upstreams: readonly UpstreamState[] }>('/status', REFRESH_MS)
  const declared = listOf(settingOf(config, 'upstreams'))
  const detail = (name: string, field: string): string => {
    const value = declared.find((one) => one['name'] === name)?.[field]
    return value === undefined || value === null
      ? '–'
      : typeof value === 'string'
        ? value
        : JSON.stringify(value)
  }
  const columns: readonly TableColumn<UpstreamState>[] = [
    {
      title: 'Upstream',
      cell: ({ name }) => (
        <a href={logHref({ upstream: name })}>
          <Inert text={name} />
        </a>
      ),
    },
    {
      title: 'State',
      cell: ({ open }) => (
        <span class={open ? 'failure' : 'good'}>{open ? 'breaker open: calls avoid it' : 'in use'}</span>
      ),
    },
    ...(declared.length === 0
      ? []
      : ['models', 'labels', 'fallback', 'breaker'].map((field) => ({
          title: field[0]!.toUpperCase() + field.slice(1),
          cell: ({ name }: UpstreamState) => <Inert text={detail(name, field)} />,
        }))),
  ]
  return (
    <section aria-labelledby="upstreams-title">
      <h2 id="upstreams-title">Upstreams</h2>
      <LoadState resource={status}>
        <DataTable
          label="List of upstreams"
          columns={columns}
          rows={status.data?.upstreams ?? []}
          keyOf={({ name }) => name}
        />
      </LoadState>
    </section>
  )
}

const SETTING_COLUMNS: readonly TableColumn<Setting>[] = [
  {
    title: 'Setting',
    cell: ({ path, description }) => (
      <>
        <code>
          <Inert text={path} />
        </code>
        {description === null ? null : <small>{description}</small>}
      </>
    ),
  },
  {
    title: 'Value',
    look: 'wide',
    cell: ({ value }) => (
      <code>
        <Inert text={typeof value === 'string' ? value : JSON.stringify(value)} />
      </code>
    ),
  },
  { title: 'From', cell: ({ is_default }) => (is_default ? 'default' : 'the file') },
  { title: 'A change needs', cell: ({ needs_restart }) => (needs_restart ? 'a restart' : 'SIGHUP') },
]

function Settings({ config: { settings, file } }: { readonly config: Configuration }) {
  const [search, setSearch] = useState('')
  const [isAll, setAll] = useState(false)
  const wanted = search.trim().toLowerCase()
  const shown = settings.filter(
    ({ path, is_default }) => (isAll || !is_default) && path.toLowerCase().includes(wanted),
  )
  const list = (title: string, paths: readonly string[]) =>
    paths.length === 0 ? null : (
      <p class="failure">
        {title} <Inert text={paths.join(', ')} />
      </p>
    )
  return (
    <>
      {file.changed ? null : <p class="good">The file is in force.</p>}
      {list('Changed in the file; SIGHUP puts it in force:', file.needs_reload)}
      {list('Changed in the file; needs a restart:', file.needs_restart)}
      {file.errors.map((text) => (
        <p key={text} class="failure">
          <Inert text={text} />
        </p>
      ))}
      <div class="filters">
        <label>
          Find a setting
          <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} />
          <span>Defaults too</span>
        </label>
      </div>
      {shown.length === 0 ? (
        <p class="empty">No setting matches.</p>
      ) : (
        <DataTable label="Settings" columns={SETTING_COLUMNS} rows={shown} keyOf={({ path }) => path} />
      )}
    </>
  )
}
