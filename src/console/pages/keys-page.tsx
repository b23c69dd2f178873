// The API keys: what each may use, has used and has left; creates, rotates and revokes them.

import { useState } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import { type ApiKey, type LimitsInUse, type ReportAnswer, workingPredecessors } from '../api-key.ts'
import { showCount, showUsd } from '../display.ts'
import { useActors } from '../last-changes.ts'
import { logHref } from '../log-address.ts'
import { LimitBar } from '../parts/limit-bar.tsx'
import { ScrollArea } from '../parts/scroll-area.tsx'
import { ChangedBy, Inert, LoadState, Time } from '../parts/text.tsx'
import { useResource } from '../resource.ts'
import { useMay } from '../signed-in.ts'
import { CreateKeyDialog, RevokeKeyDialog, RotateKeyDialog } from './key-dialogs.tsx'

const REFRESH_MS = 10_000

interface KeyList {
  readonly keys: readonly ApiKey[]
}

type OpenDialog =
  | { readonly kind: 'rotate' | 'revoke'; readonly apiKey: ApiKey }
  | { readonly kind: 'create' }

export function KeysPage() {
  const list = useResource<KeyList>('/keys', REFRESH_MS)
  const spent = useResource<ReportAnswer>('/usage/report?group_by=key', REFRESH_MS)
  const limits = useResource<LimitsInUse>('/usage/limits', REFRESH_MS)
  const actors = useActors(list.data === null ? null : versionOf(list.data))
  const mayChange = useMay('editor')
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const close = () => {
    setDialog(null)
    list.reload()
  }
  return (
    <>
      <header class="page-head">
        <h1>Keys</h1>
        {mayChange ? (
          <button type="button" class="primary" onClick={() => setDialog({ kind: 'create' })}>
            Create a key
          </button>
        ) : null}
      </header>
      <LoadState resource={list}>
        {list.data === null ? null : list.data.keys.length === 0 ? (
          <p class="empty">There is no key yet. A service needs one for its calls.</p>
        ) : (
          <ScrollArea label="API keys">
            <table>
              <thead>
                <tr>
                  <th>Key</th>
                  <th>State</th>
                  <th>Models</th>
                  <th>Limits</th>
                  <th>Last used</th>
                  <th>Expires</th>
                  <th class="number">Spent this month</th>
                  {mayChange ? <th>Change</th> : null}
                </tr>
              </thead>
              <tbody>
                {list.data.keys.map((apiKey) => (
                  <KeyRow
                    key={apiKey.id}
                    apiKey={apiKey}
                    cost={costOf(spent.data, apiKey)}
                    actor={actors.get(apiKey.id)}
                    limits={
                      limits.data?.limits.filter((one) => one.scope === 'key' && one.subject === apiKey.id) ??
                      []
                    }
                    onOpen={mayChange ? setDialog : null}
                  />
                ))}
              </tbody>
            </table>
          </ScrollArea>
        )}
      </LoadState>
      {dialog?.kind === 'create' ? <CreateKeyDialog onClose={close} /> : null}
      {dialog?.kind === 'rotate' ? <RotateKeyDialog apiKey={dialog.apiKey} onClose={close} /> : null}
      {dialog?.kind === 'revoke' ? (
        <RevokeKeyDialog
          apiKey={dialog.apiKey}
          older={workingPredecessors(list.data?.keys ?? [], dialog.apiKey).length}
          onClose={close}
        />
      ) : null}
    </>
  )
}

/** Another one after each change of a key, but not after a use. */
const versionOf = ({ keys }: KeyList): string =>
  JSON.stringify(keys.map((apiKey) => ({ ...apiKey, last_used_at: null })))

function costOf(report: ReportAnswer | null, { id }: ApiKey): string {
  const row = report?.rows.find(({ key }) => key === id)
  if (row === undefined) return report === null ? '…' : showUsd(0)
  return row.cost === null ? `${showCount(row.total_tokens)} tokens, no price` : showUsd(row.cost)
}

interface KeyRowProps {
  readonly apiKey: ApiKey
  readonly cost: string
  /** Who changed it last, if that is known. */
  readonly actor: string | undefined
  readonly limits: LimitsInUse['limits']
  /** Null for a reader who may change nothing. */
  readonly onOpen: ((dialog: OpenDialog) => void) | null
}

/** Where a key is from, by its source, unless it was made here. */
const ORIGINS: Readonly<Record<string, string>> = { file: 'declared in a file', hub: 'of the hub' }

function KeyRow({ apiKey, cost, actor, limits, onOpen }: KeyRowProps) {
  const { id, name, prefix, state, source, models, labels, owner, max_parallel } = apiKey
  const isLive = state === 'active'
  return (
    <tr class={isLive ? undefined : 'off'}>
      <td>
        <strong>
          <a href={logHref({ key_id: id })}>
            <Inert text={name} />
          </a>
        </strong>
        <small>
          <code>{prefix}</code> {ORIGINS[source] ?? ''}
          {owner === null ? null : (
            <>
              {' '}
              owner <Inert text={owner} />
            </>
          )}
          {Object.entries(labels).map(([label, value]) => (
            <span key={label} class="tag">
              <Inert text={`${label}: ${value}`} />
            </span>
          ))}
        </small>
      </td>
      <td>
        <span class="tag">{state}</span>
        <ChangedBy actor={actor} />
      </td>
      <td>{models === null ? 'all' : <Inert text={models.join(', ')} />}</td>
      <td>
        {limits.map((limit) => (
          <LimitBar key={limit.rule_name + limit.window_seconds} limit={limit} />
        ))}
        {max_parallel === null ? null : `${max_parallel} calls at a time`}
      </td>
      <td>
        <Time at={apiKey.last_used_at} />
      </td>
      <td>{apiKey.expires_at === null ? 'never' : <Time at={apiKey.expires_at} />}</td>
      <td class="number">{cost}</td>
      {onOpen === null ? null : (
        <td>
          {isLive && source === 'api' ? (
            <>
              <button
                type="button"
                aria-label={`Rotate ${visible(name)}`}
                onClick={() => onOpen({ kind: 'rotate', apiKey })}
              >
                Rotate
              </button>
              <button
                type="button"
                class="danger"
                aria-label={`Revoke ${visible(name)}`}
                onClick={() => onOpen({ kind: 'revoke', apiKey })}
              >
                Revoke
              </button>
            </>
          ) : null}
        </td>
      )}
    </tr>
  )
}
