// `sidegate completion`: prints a script that makes a shell complete the commands, their actions,
// their options and the values of these. All words are from the tables of the commands.

import { type Command, type Completed, noAction, parseArguments, UsageError } from './command.ts'

const HELP = `Usage: sidegate completion bash|zsh|fish

Prints a script that makes a shell complete commands, actions, options, values and paths
of sidegate.

  bash   source <(sidegate completion bash)          in ~/.bashrc
  zsh    source <(sidegate completion zsh)           in ~/.zshrc, after compinit
  fish   sidegate completion fish | source           in ~/.config/fish/config.fish

  --help  print this text

Exit: 0 printed, 2 there is no such shell.
`

/** @param commands returns all commands, in the order of the overview */
export const completion = (commands: () => readonly Command[]): Command => ({
  name: 'completion',
  summary: 'print a script that completes commands in bash, zsh or fish',
  options: {},
  argument: Object.keys(SCRIPTS),
  help: HELP,
  async run(args, io) {
    const { positionals } = parseArguments(args, {})
    const [shell, extra] = positionals
    if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}; give one shell`)
    const script = Object.entries(SCRIPTS).find(([name]) => name === shell)?.[1]
    if (script === undefined) throw noAction(shell, Object.keys(SCRIPTS), 'shell')
    io.out.write(script(commands()))
    return 0
  },
})

const SCRIPTS: Readonly<Record<string, (commands: readonly Command[]) => string>> = { bash, zsh, fish }

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The words of a value or an argument; none for a path or a text. */
const wordsOf = (completed: Completed | undefined): readonly string[] =>
  completed === undefined || completed === 'path' ? [] : completed

const flagsOf = ({ options }: Command): readonly string[] => [...Object.keys(options), 'help'].map(asFlag)

const asFlag = (option: string): string => `--${option}`

/** Options that a value follows, each with its command and what completes the value. */
const valuesOf = (
  commands: readonly Command[],
): readonly { readonly at: string; readonly completed: Completed | undefined }[] =>
  commands.flatMap(({ name, options }) =>
    Object.entries(options)
      .filter(([, { type }]) => type === 'string')
      .map(([option, { takes }]) => ({ at: `${name} ${asFlag(option)}`, completed: takes })),
  )

const namesOf = (commands: readonly Command[]): readonly string[] => commands.map(({ name }) => name)

const GENERAL_FLAGS = ['--help', '--version']

/** Works with bash 3.2, whose `compopt` and `mapfile` are missing. */
function bash(commands: readonly Command[]): string {
  const value = (completed: Completed | undefined): string =>
    completed === 'path' ? 'paths=1' : `words=${quote(wordsOf(completed).join(' '))}`
  const start = (command: Command): string => {
    if (command.argument === 'path') return ' paths=1'
    const words = wordsOf(command.argument).join(' ')
    return words === '' ? '' : `; (( COMP_CWORD == 2 )) && words=${quote(words)}`
  }
  return `# Completes sidegate in bash: source <(sidegate completion bash)
_sidegate() {
  local IFS=$' \\t\\n' word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local words='' flags='' paths='' path
  # Bash splits --option=value at the sign.
  if [[ $word == = ]]; then word=''
  elif [[ $previous == = ]]; then previous="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  if (( COMP_CWORD == 1 )); then
    words=${quote(namesOf(commands).join(' '))} flags=${quote(GENERAL_FLAGS.join(' '))}
  else
    case "\${COMP_WORDS[1]} $previous" in
${valuesOf(commands)
  .map(({ at, completed }) => `      ${quote(at)}) ${value(completed)} ;;`)
  .join('\n')}
      *)
        case "\${COMP_WORDS[1]}" in
${commands
  .map(
    (command) => `          ${command.name}) flags=${quote(flagsOf(command).join(' '))}${start(command)} ;;`,
  )
  .join('\n')}
        esac ;;
    esac
  fi
  if [[ $word == -* || -z $words$paths ]]; then words="$words $flags"; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ -n $paths && $word != -* ]]; then
    while IFS='' read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "$word")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _sidegate sidegate
`
}

function zsh(commands: readonly Command[]): string {
  const list = (words: readonly string[]): string => words.map(quote).join(' ')
  const value = (completed: Completed | undefined): string =>
    completed === 'path' ? '_files; return' : `compadd -- ${list(wordsOf(completed))}; return`
  const start = (command: Command): string => {
    const flags = `compadd -- ${list(flagsOf(command))}`
    if (command.argument === 'path') return `if [[ $PREFIX == -* ]]; then ${flags}; else _files; fi`
    const words = wordsOf(command.argument)
    if (words.length === 0) return flags
    return `if [[ $CURRENT == 3 && $PREFIX != -* ]]; then compadd -- ${list(words)}; else ${flags}; fi`
  }
  return `#compdef sidegate
# Completes sidegate in zsh: source <(sidegate completion zsh)
_sidegate() {
  local command=$words[2] previous=$words[CURRENT-1]
  local -a commands
  if (( CURRENT == 2 )); then
    commands=(
${commands.map(({ name, summary }) => `      ${quote(`${name}:${summary}`)}`).join('\n')}
    )
    if [[ $PREFIX == -* ]]; then compadd -- ${list(GENERAL_FLAGS)}; else _describe command commands; fi
    return
  fi
  if [[ $PREFIX == --*=* ]]; then
    previous=\${PREFIX%%=*}
    compset -P '*='
  fi
  case "$command $previous" in
${valuesOf(commands)
  .map(({ at, completed }) => `    ${quote(at)}) ${value(completed)} ;;`)
  .join('\n')}
  esac
  case $command in
${commands.map((command) => `    ${command.name}) ${start(command)} ;;`).join('\n')}
  esac
}
if [[ $funcstack[1] == _sidegate ]]; then _sidegate "$@"; else compdef _sidegate sidegate; fi
`
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, summary, options, argument }) => {
    const when = `-n ${quote(`__sidegate_runs ${name}`)}`
    const words = wordsOf(argument).join(' ')
    return [
      `-n '__sidegate_runs' -a ${quote(name)} -d ${quote(summary)}`,
      ...(words === ''
        ? []
        : [`-n ${quote(`__sidegate_runs ${name}; and __sidegate_first`)} -a ${quote(words)}`]),
      ...(argument === 'path' ? [`${when} -F`] : []),
      ...Object.entries(options).map(([option, { type, takes }]) => {
        const long = `${when} -l ${option}`
        if (type === 'boolean') return long
        return takes === 'path' ? `${long} -r -F` : `${long} -x -a ${quote(wordsOf(takes).join(' '))}`
      }),
      `${when} -l help`,
    ]
  })
  return `# Completes sidegate in fish: sidegate completion fish | source
function __sidegate_runs -d 'Whether the command is the one given, or is not there yet'
  set -l words (commandline -opc)
  test "$words[2]" = "$argv[1]"
end
function __sidegate_first -d 'Whether only the command is there'
  test (count (commandline -opc)) -eq 2
end
complete -c sidegate -f
${[...GENERAL_FLAGS.map((flag) => `-n '__sidegate_runs' -l ${flag.slice(2)}`), ...lines]
  .map((line) => `complete -c sidegate ${line}`)
  .join('\n')}
`
}
