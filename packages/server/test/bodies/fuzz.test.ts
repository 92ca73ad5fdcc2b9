import { expect, test } from 'vitest'
import { summarize } from '../../src/kit/mime/summary.ts'
import { generateMail } from '../mail/corpus.ts'
import { ODD_MAIL } from '../mail/odd/odd-mail.ts'
import { seeded } from '../seeded.ts'
import { contentOf, parse } from './facts.ts'
import { mutate } from './mutations.ts'

/* For more rounds: `WAXWING_FUZZ_ROUNDS=200000 WAXWING_FUZZ_SEED=2 npx vitest run fuzz.test.ts`. */
const ROUNDS = Number(process.env['WAXWING_FUZZ_ROUNDS'] ?? 5000)
const SEED = process.env['WAXWING_FUZZ_SEED'] ?? '1'
/** Processor time allowed for a message: linear in its size, and many times what any message takes. */
const CPU_MS_AT_LEAST = 100
const CPU_MS_PER_KB = 2
/** Garbage of a thread may be collected during any later message, so a slow one is measured again. */
const MEASURES_MAX = 3
/** Maximum growth of text in any charset, relative to its bytes. */
const GROWTH_MAX = 10
const PART = /^[1-9]\d{0,3}(?:\.[1-9]\d{0,3}){0,63}$/

const CORPUS = [
  ...Object.values(ODD_MAIL).map(({ raw }) => raw),
  ...Array.from(generateMail({ seed: 3, count: 60, brokenShare: 0.5 }), ({ raw }) => raw),
]

function cpuMsOf(work: () => void): number {
  const begun = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(begun)
  return (user + system) / 1000
}

function readsInTime(raw: Buffer): boolean {
  const budgetMs = CPU_MS_AT_LEAST + (CPU_MS_PER_KB * raw.length) / 1024
  for (let measure = 0; measure < MEASURES_MAX; measure++) {
    if (cpuMsOf(() => void [parse(raw), summarize(raw)]) <= budgetMs) return true
  }
  return false
}

/** Returns what is wrong with the reading of a message, or null. */
function findFault(raw: Buffer, pieceBytes: number): string | null {
  const before = Buffer.from(raw)
  const message = parse(raw)
  const summary = summarize(raw)
  if (JSON.stringify(parse(raw, pieceBytes)) !== JSON.stringify(message)) return 'it depends on its pieces'
  if (JSON.stringify(summarize(raw)) !== JSON.stringify(summary)) return 'it is summarised in two ways'
  if (!raw.equals(before)) return 'it was changed'
  const texts = [message.text, message.html, summary.subject, summary.snippet].map(text => text ?? '')
  if (texts.some(text => !text.isWellFormed() || text.includes('\0'))) return 'a text is not well formed'
  if (texts.some(text => text.length > GROWTH_MAX * raw.length)) return 'a text grew'
  if (summary.snippet.length > 200) return 'the snippet is too long'
  if (message.isWhole && summary.hasAttachments !== message.hasAttachments)
    return 'the list and the message disagree over its attachments'
  let last = 0
  for (const part of message.attachments) {
    if (part.start < last || part.end < part.start || part.end > raw.length) return 'a part lies elsewhere'
    last = part.end
    if (contentOf(raw, part).length !== part.size) return 'a part is of another size'
    if (!PART.test(part.id)) return 'a part has no number'
    if (!/^[!-~]+\/[!-~]+$/.test(part.contentType)) return 'a part has no type'
    if (!(part.filename ?? '').isWellFormed() || part.filename === '') return 'a name is not well formed'
  }
  const ids = message.attachments.map(({ id }) => id)
  return new Set(ids).size === ids.length ? null : 'two parts have one number'
}

test('a message is read within its budget after random changes', { timeout: 300_000 + ROUNDS * 20 }, () => {
  const faults: string[] = []
  for (let round = 0; round < ROUNDS && faults.length < 5; round++) {
    const random = seeded(`${SEED}/${round}`)
    const raw = mutate(random, random.pick(CORPUS), random.pick(CORPUS))
    const fault = findFault(raw, random.between(1, 5000)) ?? (readsInTime(raw) ? null : 'it takes too long')
    if (fault !== null) faults.push(`${SEED}/${round}: ${fault}: ${raw.toString('base64')}`)
  }
  expect(faults).toEqual([])
})
