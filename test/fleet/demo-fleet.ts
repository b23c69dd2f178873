// `npm run demo:fleet`: a hub with PostgreSQL, three sidecars and a stand-in provider on this
// machine, with lines to paste that revoke keys, use up a limit, verify the logs and convict one that
// was cut.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../process/program.ts'
import { type FleetHub, RunningFleet } from './running-fleet.ts'

/** Time for which a hub that was killed stays away. */
const RESTART_MS = 5000
const HELP = `Usage: npm run demo:fleet [-- --json]

Starts PostgreSQL, a hub, three sidecars and a stand-in for a provider, each on a free
port of 127.0.0.1. Prints addresses, a token, an API key and lines to paste that show a
revocation, a frozen sidecar, a limit over all sidecars, the same with the hub killed, and
the log of the fleet: verified, and a sidecar's log that was cut, convicted. A hub that was
killed starts again after ${RESTART_MS / 1000} seconds. Data is kept in temporary folders until Ctrl-C.

  --json   print one JSON object on the first line of standard output, when all is ready:
           {"hub": URL, "hub_pid": N, "hub_token": T,
            "database": URL as sidegate_hub, "database_owner": URL,
            "sidecars": [{"name", "url", "ops_url", "pid"}], "upstream": URL}
           (npm run --silent keeps npm's own lines out)
  --help   print this text

Signals: SIGTERM, SIGINT and SIGQUIT stop all processes and remove all files.
Exit: 0 stopped, 1 a part did not start (its error output is printed), 2 wrong arguments.
`
const PODS = ['web-0', 'web-1', 'web-2']
const MAX_STALE_SECONDS = 3600
/** A limit over all sidecars, for keys of this name. */
const LIMITED = { key: 'limited', requests: 60, seconds: 20 }
/** The part of it that the hub sets aside for when it is away. */
const SET_ASIDE = 0.2
const HUB_RULES = `rules:
  - name: limit-of-the-fleet
    type: rate_limit
    pattern: ${LIMITED.requests} requests/${LIMITED.seconds}s
    action: block
    match: { keys: [${LIMITED.key}] }
`

function readOptions(): { readonly json: boolean } {
  const options = {
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const
  try {
    const { values } = parseArgs({ options })
    if (!values.help) return values
    process.stdout.write(HELP)
    process.exit(0)
  } catch (error) {
    process.stderr.write(`demo:fleet: ${(error as Error).message}\n${HELP}`)
    process.exit(2)
  }
}

const described = (fleet: RunningFleet): object => ({
  hub: fleet.hubs[0]!.url,
  hub_pid: fleet.hubs[0]!.child.pid,
  hub_token: fleet.token,
  database: fleet.urlAs('hub'),
  database_owner: fleet.urlAs('owner'),
  sidecars: fleet.sidecars.map(({ name, url, opsUrl, child }) => ({
    ...{ name, url, ops_url: opsUrl, pid: child.pid },
  })),
  upstream: fleet.upstream,
})

/** What a person reads: addresses, credentials and lines to paste. */
async function invitation(fleet: RunningFleet): Promise<string> {
  const hub = fleet.hubs[0]!
  const api = await fleet.signIn()
  const names = ['demo', 'second', LIMITED.key]
  const keys = await Promise.all(names.map((name) => api('POST', '/keys', { name })))
  const [first, second, limited] = keys.map(({ body }) => body as { id: string; key: string })
  const jar = join(fleet.folder, 'cookies')
  const call = (url: string, key: string) =>
    `${url}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"demo/echo","messages":[{"role":"user","content":"Hello"}]}'`
  const ask = (url: string, key: string) => `curl -s -w ' %{http_code}\\n' ${call(url, key)}`
  const countStatuses = (rounds: number) =>
    `for n in $(seq ${rounds}); do for url in ${fleet.sidecars.map(({ url }) => url).join(' ')}; do curl -s -o /dev/null -w '%{http_code}\\n' ${call('$url', limited!.key)}; done; done | sort | uniq -c`
  const revoke = (id: string) =>
    `curl -s -b ${jar} -X DELETE ${hub.url}/api/v1/keys/${id} | grep -o '"fleet":{.*}'`
  const asked = (key: string) => fleet.sidecars.map(({ url }) => `   ${ask(url, key)}`).join('\n')
  const frozen = fleet.sidecars[0]!
  const cut = fleet.sidecars[2]!
  const cli = 'npm run --silent sidegate --'
  const kept = (file: string) => join(fleet.folder, file)
  const addresses = fleet.sidecars.map(
    ({ name, url, opsUrl, child }) =>
      `  ${name}    ${url}   metrics ${opsUrl}/metrics   process ${child.pid}`,
  )
  return `
  hub           ${hub.url}   metrics ${hub.opsUrl}/metrics
${addresses.join('\n')}
  upstream      ${fleet.upstream}
  database      ${fleet.urlAs('hub')}
  as its owner  ${fleet.urlAs('owner')}
  admin token   ${fleet.token}
  API key       ${first!.key}

A hub and three sidecars are running. Stop them with Ctrl-C. Paste these lines in another terminal.

1. The key was made at the hub and works at each sidecar.
${asked(first!.key)}

2. Sign in at the hub; see who is connected.
   curl -s -o /dev/null -c ${jar} ${hub.url}/api/v1/session -H 'content-type: application/json' -d '{"token":"${fleet.token}"}' && curl -s -b ${jar} ${hub.url}/api/v1/fleet; echo

3. Revoke the key: the answer comes when all three have confirmed ("unconfirmed":0).
   ${revoke(first!.id)}

4. It is refused everywhere.
${asked(first!.key)}

5. Freeze ${frozen.name} and revoke a second key: after a second the answer names it in "unconfirmed_names".
   kill -STOP ${frozen.child.pid}
   ${revoke(second!.id)}

6. Let it go on: it refuses the second key too.
   kill -CONT ${frozen.child.pid}
   ${ask(frozen.url, second!.key)}

7. A limit of the hub holds over all three: ${LIMITED.requests} of 90 calls in ${LIMITED.seconds} seconds are admitted, 30 at each.
   ${countStatuses(30)}

8. The same with the hub killed, when those count no more: each sidecar uses its part of the fifth that is set aside, ${LIMITED.requests * SET_ASIDE} of 24 calls together. The hub is started again after ${RESTART_MS / 1000} seconds.
   sleep ${LIMITED.seconds + 1}; kill -9 ${hub.child.pid}; ${countStatuses(8)}

9. Each call is one entry in the database of the hub. Stop ${cut.name}, which sends the rest, and verify all logs.
   kill ${cut.child.pid}; sleep 2; SIDEGATE_DATABASE_URL='${fleet.urlAs('hub')}' ${cli} audit verify --fleet --format pretty

10. Keep what the hub has signed for ${cut.name}, and the key of the hub.
   curl -s -b ${jar} '${hub.url}/api/v1/audit/export?sidecar=${cut.name}' | tail -n 1 | jq -j .checkpoint > ${kept('note')}; curl -s -b ${jar} ${hub.url}/api/v1/audit/checkpoint | jq -r .public_key > ${kept('hub.key')}

11. Cut the last two entries of its own log: the kept lines alone convict it.
   ${cli} audit export --config ${cut.folder}/sidegate.yaml | grep -v '"checkpoint"' | head -n -2 > ${kept('cut.jsonl')}
   ${cli} audit verify --export ${kept('cut.jsonl')} --checkpoint ${kept('note')} --public-key ${kept('hub.key')} --format pretty
`
}

/** Resolves with the first signal to stop. */
const stopSignal = (): Promise<'signal'> =>
  new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'] as const)
      process.on(signal, () => resolve('signal'))
  })

const say = (text: string): boolean => process.stderr.write(`demo:fleet: ${text}\n`)

async function startAgain(fleet: RunningFleet, hub: FleetHub): Promise<void> {
  try {
    hub.child = await fleet.startHub(hub.file)
    say('the hub is back')
  } catch (error) {
    say((error as Error).message)
  }
}

async function runDemo(): Promise<number> {
  const options = readOptions()
  const stopped = stopSignal()
  if (!options.json) process.stderr.write('Starting PostgreSQL, a hub and three sidecars …\n')
  const fleet = new RunningFleet({
    pods: PODS,
    rules: join(ROOT, 'config/rules'),
    maxStaleSeconds: MAX_STALE_SECONDS,
    hubConfig: { rules: { path: 'rules.yaml' }, limits: { guaranteedShare: SET_ASIDE } },
    hubFiles: { 'rules.yaml': HUB_RULES },
  })
  try {
    const started = fleet.start()
    started.catch(() => {})
    if ((await Promise.race([started, stopped])) === 'signal') return 0
    process.stdout.write(options.json ? `${JSON.stringify(described(fleet))}\n` : await invitation(fleet))
    fleet.onEnded = (name, code) => {
      say(`${name} has ended: ${code}`)
      const hub = fleet.hubs.find(({ child }) => child.name === name)
      if (hub !== undefined) setTimeout(() => void startAgain(fleet, hub), RESTART_MS)
    }
    await stopped
    return 0
  } catch (error) {
    say((error as Error).message)
    return 1
  } finally {
    await fleet.stop()
  }
}

process.exit(await runDemo())
