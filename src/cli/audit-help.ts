// The texts of `sidegate audit --help` and of `sidegate audit ACTION --help`.

import { DEFAULT_CONFIG } from './command.ts'

interface ActionHelp {
  readonly name: string
  /** Lines after `Usage: `. */
  readonly usage: string
  /** What it does and its options, beginning with its name. */
  readonly text: string
}

const ACTIONS: readonly ActionHelp[] = [
  {
    name: 'verify',
    usage: `sidegate audit verify [--config FILE | --export FILE] [--checkpoint FILE]...
                      [--public-key FILE]... [--partial]
                      [--format pretty|json]
sidegate audit verify --fleet [--database-file FILE] [--checkpoint FILE]...
                      [--public-key FILE]... [--format pretty|json]
sidegate audit verify --receipt FILE --public-key FILE...
                      [--format pretty|json]`,
    text: `verify checks every entry, the hash chain and the Merkle tree, and compares them with
the checkpoints stored with the log and those kept elsewhere. It reports the first
sequence number that was changed, and the entries that no checkpoint covers. The log
must begin at its genesis entry, or where a sealed prune entry says.

  --export FILE       check an export and the exchanges in it; - is standard input
  --checkpoint FILE   a checkpoint kept elsewhere: the signed note, or JSON (also one
                      object a line) with the note as "checkpoint"; may be repeated
  --public-key FILE   trusted keys: PEM or signed-note verifier keys, one or more; may
                      be repeated. Every checkpoint must be signed by one of them, and
                      by the key that the boot entries of the log name. After a change
                      of audit.signingKey give the old key and the new one. The key of
                      the hubs of a fleet stands for that of a sidecar on each checkpoint
                      that they have cosigned
  --partial           accept an export that begins later, as after export --since; the
                      verdict is then PASS (partial): nothing shows that the entries
                      before it are unchanged, or that there are none
  --fleet             check every log in the database of the hubs, whose URL is in the
                      environment variable SIDEGATE_DATABASE_URL. The role needs to
                      read the tables only. A checkpoint of the log of the hubs covers
                      what they have witnessed of every log
  --database-file FILE
                      with --fleet: the file that holds the URL
  --receipt FILE      check the signed receipt of one call instead, which needs neither
                      the log nor a configuration; - is standard input. The steps are
                      form, entry, proof, checkpoint and signature
  --format FORMAT     pretty or json; default: pretty on a terminal, json in a pipe`,
  },
  {
    name: 'public-key',
    usage: `sidegate audit public-key [--config FILE]`,
    text: `public-key prints the public key of the checkpoints as PEM: that of audit.signingKey, or
of the key that the gateway made in the data directory. A verifier of receipts gets
the key from the operator, and not with the receipt.`,
  },
  {
    name: 'export',
    usage: `sidegate audit export [--config FILE] [--since TIME] [--until TIME]
                      [--exchanges]`,
    text: `export writes JSON Lines to standard output: the entries in order, then the
checkpoints over them.

  --since TIME        begin with the first entry sealed at or after TIME (RFC 3339, or
                      a date: 2026-03-01)
  --until TIME        end before the first entry sealed after TIME, or after that date
  --exchanges         after the entry of a call, its request and response if they are
                      still stored: for sidegate diff --replay and for verification
                      elsewhere. The file holds what people wrote to models, redacted
                      by the rules in force then. Protect it like the data directory,
                      and erase in it what you erase there`,
  },
  {
    name: 'erase',
    usage: `sidegate audit erase [--config FILE] --request ID | --key ID |
                      --user VALUE | --before TIME`,
    text: `erase removes captured exchanges and seals their number. The entries stay, and the log
still verifies. Erased exchanges cannot be restored.

  --request ID        the exchange of one call
  --key ID            those of all calls with an API key
  --user VALUE        those of all calls for an end user, as the client names the user, and
                      with them who it was
  --before TIME       those of all calls that arrived before TIME, at most a day from now`,
  },
  {
    name: 'rollup',
    usage: `sidegate audit rollup --rebuild [--config FILE]`,
    text: `rollup counts the calls of the log into the sums of usage again, as sidegate usage shows
them, also while a gateway runs. Hours of which the log has only a part keep their sums.
Calls whose end user was erased count under the user "erased". With the configuration of
a hub it counts the logs in its database, also while hubs run.

  --rebuild           required: nothing else can be done with the sums`,
  },
  {
    name: 'trust-clock',
    usage: `sidegate audit trust-clock [--config FILE]`,
    text: `trust-clock seals that the clock of the machine is right. After a jump of more than a
day, or a start more than a day after the newest entry, a gateway removes nothing for
its age until its clock was steady for an hour; with this it need not wait.`,
  },
  {
    name: 'compact',
    usage: `sidegate audit compact [--config FILE] --to FOLDER`,
    text: `compact copies the data directory without the free pages of its file, which may hold
bytes of erased exchanges until they are overwritten.

  --to FOLDER         new or empty, on the same file system as data.path. Stop the
                      gateway before you replace data.path with it: the copy does not
                      have entries written since. It continues the log, so use it once,
                      and move it; a copy of it begins a new log`,
  },
  {
    name: 'new-log',
    usage: `sidegate audit new-log [--config FILE]`,
    text: `new-log ends the log of a stopped gateway and begins another, whose first entry names
it. The old log stays in predecessor-<time>/ in the data directory and still verifies.
API keys and rules made through the API are carried over. A gateway does the same when
it finds that its data directory is a copy. Use new-log where it cannot find that: after
a snapshot of the whole disk was restored or cloned, after a backup was written over
the files in place, and on file systems without birth times.`,
  },
]

/** The names of the actions. */
export const AUDIT_ACTIONS: readonly string[] = ACTIONS.map(({ name }) => name)

const INTRODUCTION = `Works on the usage log of a running or stopped gateway on this machine; verify also on
an export.`

const COMMON = `  --config FILE       configuration (default ${DEFAULT_CONFIG})
  --help              print this text

Exit: 0 intact or done; 1 findings, no such call, an exchange left out of an export, an
entry pruned before it was written, or an output that cannot be written; 2 could not run.
`

const compose = (actions: readonly ActionHelp[], introduction: readonly string[]): string => {
  const usage = actions.map((action) => action.usage.replaceAll('\n', '\n       ')).join('\n       ')
  return [`Usage: ${usage}`, ...introduction, ...actions.map(({ text }) => text), COMMON].join('\n\n')
}

export const AUDIT_HELP = compose(ACTIONS, [INTRODUCTION])

/** Returns the help of the first action that arguments name, or null. */
export function helpOfAction(args: readonly string[]): string | null {
  const named = args.flatMap((arg) => ACTIONS.filter(({ name }) => name === arg))
  return named.length === 0 ? null : compose(named.slice(0, 1), [])
}
