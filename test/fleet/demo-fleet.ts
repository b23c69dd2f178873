// `npm run demo:fleet`: a hub with PostgreSQL, three sidecars and a stand-in provider on this
// machine, with lines to paste that revoke keys, verify the logs and convict one that was cut.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../process/program.ts'
import { RunningFleet } from './running-fleet.ts'

const HELP = `Usage: npm run demo:fleet [-- --json]

Starts PostgreSQL, a hub, three sidecars and a stand-in for a provider, each on a free
port of 127.0.0.1. Prints addresses, a token, an API key and lines to paste that show a
revocation, a frozen sidecar, and the log of the fleet: verified, and a sidecar's log that
was cut, convicted. Data is kept in temporary folders until Ctrl-C.

  --json   print one JSON object on the first line of standard output, when all is ready:
           {"hub": URL, "hub_token": T, "database": URL as sidegate_hub,
            "database_owner": URL,
            "sidecars": [{"name", "url", "ops_url", "pid"}], "upstream": URL}
           (npm run --silent keeps npm's own lines out)
  --help   print this text

Signals: SIGTERM, SIGINT and SIGQUIT stop all processes and remove all files.
Exit: 0 stopped, 1 a part did not start (its error output is printed), 2 wrong arguments.
`
const PODS = ['web-0', 'web-1', 'web-2']
const MAX_STALE_SECONDS = 3600

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
  const keys = [await api('POST', '/keys', { name: 'demo' }), await api('POST', '/keys', { name: 'second' })]
  const [first, second] = keys.map(({ body }) => body as { id: string; key: string })
  const jar = join(fleet.folder, 'cookies')
  const ask = (url: string, key: string) =>
    `curl -s -w ' %{http_code}\\n' ${url}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"demo/echo","messages":[{"role":"user","content":"Hello"}]}'`
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

7. Each call is one entry in the database of the hub. Stop ${cut.name}, which sends the rest, and verify all logs.
   kill ${cut.child.pid}; sleep 2; SIDEGATE_DATABASE_URL='${fleet.urlAs('hub')}' ${cli} audit verify --fleet --format pretty

8. Keep what the hub has signed for ${cut.name}, and the key of the hub.
   curl -s -b ${jar} '${hub.url}/api/v1/audit/export?sidecar=${cut.name}' | tail -n 1 | jq -j .checkpoint > ${kept('note')}; curl -s -b ${jar} ${hub.url}/api/v1/audit/checkpoint | jq -r .public_key > ${kept('hub.key')}

9. Cut the last two entries of its own log: the kept lines alone convict it.
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

async function runDemo(): Promise<number> {
  const options = readOptions()
  const stopped = stopSignal()
  if (!options.json) process.stderr.write('Starting PostgreSQL, a hub and three sidecars …\n')
  const fleet = new RunningFleet({
    pods: PODS,
    rules: join(ROOT, 'config/rules'),
    maxStaleSeconds: MAX_STALE_SECONDS,
  })
  try {
    const started = fleet.start()
    started.catch(() => {})
    if ((await Promise.race([started, stopped])) === 'signal') return 0
    process.stdout.write(options.json ? `${JSON.stringify(described(fleet))}\n` : await invitation(fleet))
    fleet.onEnded = (name, code) => process.stderr.write(`demo:fleet: ${name} has ended: ${code}\n`)
    await stopped
    return 0
  } catch (error) {
    process.stderr.write(`demo:fleet: ${(error as Error).message}\n`)
    return 1
  } finally {
    await fleet.stop()
  }
}

process.exit(await runDemo())
