// Names known patterns in the evidence for people to read. They do not change the score.

import { createFoldedText, type FoldedText, foldPiece } from './folded-text.ts'

/** Source code units that are searched: enough for any window. */
const READ_UNITS = 4096

/** Repetitions are bounded and not nested, so that matching takes linear time. */
const PATTERNS: readonly (readonly [name: string, pattern: RegExp])[] = [
  [
    'override_instructions',
    /\b(?:ignore|disregard|forget|override|overrule|skip|bypass|neglect|discard|drop)\b[^.!?\n]{0,60}\b(?:instructions?|prompts?|rules|guidelines|directives?|orders|commands?|context|messages?|everything|training|told)\b/,
  ],
  [
    'override_instructions_translated',
    /\b(?:ignor(?:a|ez|ieren?|iere|ir|are)|ignor(?:e|a) (?:toutes|tes|les|todas|tus|las|tutte|as)|vergiss|oublie[zr]?|olvid[ae]|esquece|dimentica|zapomnij|zignoruj|negeer|vergeet|unut|забудь|игнорируй|ігноруй|zanemari)\b[^.!?\n]{0,60}\b(?:anweisungen|instruktionen|consignes|instructions|instrucciones|instrucoes|istruzioni|instructies|instrukcj|polecenia|инструкци|указани|інструкці|talimat|upute|regeln|regles|reglas|regras|regole)|(?:忽略|无视|忘记|無視)[^。！？\n]{0,20}(?:指令|指示|规则|内容|プロンプト)|(?:무시하|잊어)/,
  ],
  [
    'reveal_prompt',
    /\b(?:reveal|show|print|repeat|output|display|give|tell|leak|recite|echo|copy|dump|what (?:is|are|was|were))\b[^.!?\n]{0,60}\b(?:system prompt|initial prompt|original prompt|hidden prompt|(?:system|initial|original|hidden|secret|previous) (?:instructions|message|rules)|text above|words above|everything above)\b/,
  ],
  [
    'reveal_secret',
    /\b(?:reveal|show|print|repeat|output|display|give|tell|leak|spell|encode|share|send)\b[^.!?\n]{0,60}\b(?:password|passphrase|secret|api key|credentials?|access code|environment variables)\b/,
  ],
  [
    'unrestricted_persona',
    /\b(?:dan mode|do anything now|developer mode|jailbreak|jailbroken|unfiltered|without (?:any )?(?:restrictions?|filters?|limits?|limitations)|no (?:restrictions|limits|filter|ethics|rules)|god mode|sudo mode)\b/,
  ],
  [
    'fake_turn',
    /(?:<\|?(?:im_start|im_end|system|endoftext|eot_id)\|?>|<<sys>>|\[\/?inst\]|###\s{0,3}(?:system|instruction|human|assistant)\b|^\s{0,4}(?:system|assistant)\s{0,2}:)/m,
  ],
  [
    'addresses_assistant',
    /\b(?:(?:attention|note|message|instructions?|important)[^.!?\n]{0,30}\b(?:ai|assistants?|language models?|llms?|chatbots?|agents?)\b|if you are an? (?:ai|llm|language model|assistant)|do not (?:tell|mention|inform|alert)[^.!?\n]{0,20}\buser\b)/,
  ],
  [
    'new_task',
    /\b(?:new (?:task|instructions?|rules?|objective|role)|instead,? (?:of|say|print|output|write|tell|do)|from now on|start your (?:answer|response|reply) with)\b/,
  ],
]

/** Finds known patterns with a reused buffer. */
export class ReasonReader {
  readonly #folded: FoldedText = createFoldedText()

  /**
   * Returns the names of the patterns in `text[start, end)`, of which the first READ_UNITS are
   * searched.
   */
  read(text: string, start: number, end: number): string[] {
    foldPiece(text, start, Math.min(end, start + READ_UNITS), this.#folded)
    const { units, length } = this.#folded
    const plain = Buffer.from(units.buffer, units.byteOffset, length * units.BYTES_PER_ELEMENT).toString(
      'utf16le',
    )
    return PATTERNS.filter(([, pattern]) => pattern.test(plain)).map(([name]) => name)
  }
}
