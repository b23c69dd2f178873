// The workflows of GitHub: what they may do, and that the scripts of a release do what they say. The
// scripts run as they stand, with stand-ins for a container engine and for what pushes.

import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { VERSION } from '../../src/core/version.ts'
import { findTool, missing } from '../charts/tools.ts'
import { SIDEGATE } from '../process/program.ts'
import { temporaryFolder } from '../rules/fixture.ts'
import { ROOT } from './sources.ts'

interface Step {
  readonly id?: string
  readonly name?: string
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly uses?: string
  readonly steps?: readonly Step[]
  readonly 'timeout-minutes'?: number
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const FOLDER = join(ROOT, '.github/workflows')
const TEXTS = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]))
const WORKFLOWS = new Map([...TEXTS].map(([name, text]) => [name, parse(text) as Workflow]))
const RELEASE = WORKFLOWS.get('release.yml')!
const STEPS = [...WORKFLOWS].flatMap(([file, { jobs }]) =>
  Object.entries(jobs).flatMap(([job, { steps = [] }]) =>
    steps.map((step) => ({ ...step, where: `${file} ${job} ${step.name ?? step.run ?? step.uses}` })),
  ),
)
/** Scopes that a job of a release may write; none changes the repository. */
const WRITABLE = ['attestations', 'id-token', 'packages']
const MAXIMUM_STEP_MS = 60_000
const DIGEST = `sha256:${'ab'.repeat(32)}`

t.test('every action is pinned by its commit, with its release beside it', async (t) => {
  for (const [file, text] of TEXTS) {
    for (const [line, action = ''] of text.matchAll(/^.*\buses: *(\S+).*$/gm)) {
      if (action.startsWith('./')) continue
      t.match(line, /uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${file}: ${line.trim()}`)
    }
  }
})

t.test('an action has the same commit everywhere', async (t) => {
  const commits = new Map<string, string>()
  for (const { uses = '', where } of STEPS) {
    const [action = '', commit = ''] = uses.split('@')
    t.equal(commits.get(action) ?? commit, commit, where)
    commits.set(action, commit)
  }
})

t.test(
  'each job has the least permissions, a deadline, and keeps no credentials in the checkout',
  async (t) => {
    for (const [file, { permissions, jobs }] of WORKFLOWS) {
      t.ok(
        Object.values(permissions).every((scope) => scope === 'read'),
        file,
      )
      for (const [name, job] of Object.entries(jobs)) {
        if (job.uses === undefined) t.ok(job['timeout-minutes'], `${file} ${name}`)
        for (const [scope, level] of Object.entries(job.permissions ?? {}))
          t.ok(level === 'read' || WRITABLE.includes(scope), `${file} ${name} ${scope}`)
      }
    }
    for (const job of Object.values(RELEASE.jobs)) t.ok(job.permissions, 'a release names them for each job')
    for (const { uses, with: inputs, where } of STEPS)
      if (uses?.startsWith('actions/checkout@')) t.equal(inputs?.['persist-credentials'], false, where)
  },
)

t.test('no script contains an expression, whose value a shell would run', async (t) => {
  for (const { run = '', where } of STEPS) {
    t.notMatch(run, /\$\{\{/, where)
    const { stderr } = spawnSync('bash', ['-n'], { input: run, encoding: 'utf8' })
    t.equal(stderr, '', where)
  }
})

t.test('all names come from the repository that runs the workflow', async (t) => {
  const text = TEXTS.get('release.yml') ?? ''
  const withoutComments = text.replace(/^ *#.*$/gm, '')
  t.notMatch(withoutComments, /(?:ghcr\.io|docker\.io|npm\.pkg\.github\.com|github\.com)\/\w/)
  t.notMatch(withoutComments, /name=@[\w-]/)
  t.match(withoutComments, /GITHUB_REPOSITORY,,/)
})

/** Stands in for a program: prints its arguments, and runs a script. */
function standIn(folder: string, name: string, script = ''): void {
  const file = join(folder, name)
  writeFileSync(file, `#!/usr/bin/env bash\necho "${name} $*" >> "$FOLDER/calls.txt"\n${script}\n`)
  chmodSync(file, 0o755)
}

/** Runs a step of a job of a release as GitHub does. */
function runStep(t: Test, job: string, name: string, env: Readonly<Record<string, string>>, folder: string) {
  const { run = 'exit 99' } = RELEASE.jobs[job]?.steps?.find((step) => step.name === name) ?? {}
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: MAXIMUM_STEP_MS,
      env: {
        HOME: folder,
        PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
        FOLDER: folder,
        ...RELEASE.env,
        GITHUB_REPOSITORY: 'Some-Team/Gate.Way',
        GITHUB_SERVER_URL: 'https://github.example',
        GITHUB_ACTOR: 'someone',
        GITHUB_OUTPUT: join(folder, 'output.txt'),
        GITHUB_STEP_SUMMARY: join(folder, 'summary.md'),
        TOKEN: 'secret-token',
        VERSION,
        IMAGE: 'ghcr.io/some-team/gate.way',
        ...env,
      },
    },
  )
  const read = (file: string) => {
    try {
      return readFileSync(join(folder, file), 'utf8')
    } catch {
      return ''
    }
  }
  const [outputs, calls] = [read('output.txt'), read('calls.txt')]
  t.notMatch(stdout + stderr + calls, /secret-token/)
  return { status, printed: stdout + stderr, outputs, calls }
}

/** A folder in which a step runs, with a folder of programs. */
function workspace(t: Test, ...paths: readonly string[]): string {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'bin'))
  for (const path of paths) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  return folder
}

t.test('a tag other than the version, or a changelog without the day, ends a release', async (t) => {
  const folder = workspace(t, 'package.json')
  mkdirSync(join(folder, '.github'))
  const changelog = (day: string) =>
    writeFileSync(join(folder, '.github/CHANGELOG.md'), `# Changelog\n\n## [${VERSION}] - ${day}\n`)
  const step = 'Compare the tag with the version and the changelog'
  const compare = (tag: string) => runStep(t, 'version', step, { GITHUB_REF_NAME: tag }, folder)
  changelog('unreleased')
  t.match(compare(`v${VERSION}`), { status: 1, printed: /CHANGELOG\.md::the section .* has no date/ })
  changelog('2030-01-31')
  t.match(compare('v0.0.1'), { status: 1, printed: new RegExp(`the version ${VERSION}; tag v${VERSION}`) })
  const released = compare(`v${VERSION}`)
  t.equal(released.status, 0, released.printed)
  t.equal(released.outputs, `version=${VERSION}\nimage=ghcr.io/some-team/gate.way\n`)
})

/** A container engine that runs the built program of this checkout. */
const ENGINE = `
case "$1 $2" in
  'run --rm') shift 3; cd "$ROOT"; if [ $# = 0 ]; then set -- serve --config config/sidegate.yaml; fi; exec ${SIDEGATE} "$@" ;;
  'run --detach') { code=0; ${SIDEGATE} demo --gateway "127.0.0.1:$PORT" --ops 127.0.0.1:0 & echo $! > "$FOLDER/pid"; wait $! || code=$?; echo $code > "$FOLDER/code"; } > "$FOLDER/log" 2>&1 &
    for _ in {1..100}; do if grep -q sgate_live_ "$FOLDER/log"; then break; fi; sleep 0.1; done ;;
  'logs demo') cat "$FOLDER/log" ;;
  'stop demo') kill -TERM "$(cat "$FOLDER/pid")"; for _ in {1..100}; do if [ -s "$FOLDER/code" ]; then break; fi; sleep 0.1; done ;;
  'inspect --format') cat "$FOLDER/code" ;;
  'buildx build') printf '{"containerimage.digest":"${DIGEST}"}' > build.json ;;
  'buildx imagetools') if [ "$3" = inspect ]; then printf '{"digest":"${DIGEST}"}'; fi ;;
esac`

const freePort = (): Promise<string> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(String(port)))
    })
  })

t.test('the image is run before it has a tag: it refuses, redacts and stops', async (t) => {
  const folder = workspace(t)
  standIn(join(folder, 'bin'), 'docker', ENGINE)
  const env = { ROOT, PORT: await freePort(), REFERENCE: `image@${DIGEST}` }
  const { status, printed, calls } = runStep(t, 'image', 'Run', env, folder)
  t.equal(status, 0, printed)
  t.match(printed, /Write to \[EMAIL_1\]/)
  t.match(calls, /run --detach .*--user 12345:12345 --read-only .*image@sha256:\w+ demo\n/)
})

t.test('both platforms are pushed by digest, then tagged with the version', async (t) => {
  const folder = workspace(t)
  standIn(join(folder, 'bin'), 'docker', ENGINE)
  const build = runStep(
    t,
    'image',
    'Build and push without a tag',
    { PLATFORM: 'arm64', GITHUB_SHA: 'c' },
    folder,
  )
  t.equal(build.status, 0, build.printed)
  t.match(build.calls, /buildx build --platform linux\/arm64 .*push-by-digest=true/)
  t.equal(build.outputs, `arm64=${DIGEST}\ndigest=${DIGEST}\n`)
  const tag = runStep(t, 'tag', 'Tag both platforms', { AMD64: 'sha256:1', ARM64: 'sha256:2' }, folder)
  t.equal(tag.status, 0, tag.printed)
  const image = 'ghcr.io/some-team/gate.way'
  t.ok(
    tag.calls.includes(`create --tag ${image}:${VERSION} ${image}@sha256:1 ${image}@sha256:2\n`),
    tag.calls,
  )
})

t.test('the charts of a release name its image', { skip: missing('helm') }, async (t) => {
  const folder = workspace(t, 'charts')
  copyFileSync(findTool('helm') ?? '', join(folder, 'bin/helm'))
  const packaged = runStep(
    t,
    'charts',
    'Package the charts with the image of this release',
    // In place of the time of the last commit: the folder is no repository.
    { DIGEST, SOURCE_DATE_EPOCH: '1700000000' },
    folder,
  )
  t.equal(packaged.status, 0, packaged.printed)
  t.ok(
    packaged.printed.includes(`ghcr.io/some-team/gate.way:${VERSION}@${DIGEST}`) ||
      packaged.printed.includes(`ghcr.io/some-team/gate.way@${DIGEST}`),
    packaged.printed,
  )
  standIn(join(folder, 'bin'), 'docker')
  standIn(join(folder, 'bin'), 'helm', `echo "Digest: ${DIGEST}"`)
  const pushed = runStep(t, 'charts', 'Push the charts', {}, folder)
  t.equal(pushed.status, 0, pushed.printed)
  t.equal(pushed.outputs, `sidegate-lib=${DIGEST}\nsidegate=${DIGEST}\nsidegate-hub=${DIGEST}\n`)
  t.match(
    pushed.calls,
    `helm push packaged/sidegate-${VERSION}.tgz oci://ghcr.io/some-team/gate.way/charts\n`,
  )
})

t.test('the npm package has the name of the repository', async (t) => {
  const folder = workspace(t, 'package.json')
  const named = runStep(t, 'npm', 'Name the package after the repository', {}, folder)
  t.equal(named.status, 0, named.printed)
  const { name, version, bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  t.same(
    { name, version, bin },
    { name: '@some-team/gate.way', version: VERSION, bin: { sidegate: 'dist/main.js' } },
  )
  mkdirSync(join(folder, 'packed'))
  writeFileSync(join(folder, 'packed/package.tgz'), '')
  standIn(join(folder, 'bin'), 'npm')
  const published = runStep(t, 'npm', 'Publish', {}, folder)
  t.match(published.calls, /npm publish packed\/package\.tgz .*--registry https:\/\/npm\.pkg\.github\.com\n/)
  const config = readFileSync(join(folder, '.npmrc-release'), 'utf8')
  t.match(config, /^\/\/npm\.pkg\.github\.com\/:_authToken=\$\{TOKEN\}\n$/, 'npm reads the token itself')
})
