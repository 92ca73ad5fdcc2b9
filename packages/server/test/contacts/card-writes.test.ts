import { expect, test } from 'vitest'
import type { ContactChange, ContactFields } from '../../src/providers/contacts.ts'
import { UnwritableCard } from '../../src/providers/dav/cards/check-change.ts'
import { editCard, newCard } from '../../src/providers/dav/cards/edit-card.ts'
import { seeded } from '../seeded.ts'
import { askIcal, askVobject, type OtherProperty } from './ask-others.ts'
import { forbiddenChange, randomChange, randomFields } from './random-changes.ts'
import { WRITTEN_CARDS } from './written-cards.ts'

/* For more: `WAXWING_TEST_CARD_WRITES=100000 WAXWING_TEST_CARD_SEED=2 npx vitest run card-writes.test.ts`. */
const WRITES = Number(process.env['WAXWING_TEST_CARD_WRITES'] ?? 2000)
const SEED = process.env['WAXWING_TEST_CARD_SEED'] ?? '1'
/** Cards that one process of Python reads. */
const BATCH = 1000

const VERSIONS = ['3.0', '4.0'] as const
type Version = (typeof VERSIONS)[number]

/** Cards of other programs that the other readers can read, too. */
const BASES: Readonly<Record<Version, readonly Buffer[]>> = {
  '3.0': Object.values(WRITTEN_CARDS).filter(
    card => card.includes('VERSION:3.0') && !card.includes('VLIST') && !card.includes('NICKNAME:Jota'),
  ),
  '4.0': Object.values(WRITTEN_CARDS).filter(card => card.includes('VERSION:4.0')),
}

interface Write {
  version: Version
  before: Buffer
  after: Buffer
  change: ContactChange
}

function writeOf(index: number): Write {
  const random = seeded(`${SEED}/${index}`)
  const version = VERSIONS[index % 2]!
  const fields = readable(version, randomFields(random))
  const before = random.chance(0.5) ? random.pick(BASES[version]) : newCard(fields, `u-${index}`, { version })
  const change = readable(version, randomChange(random))
  return { version, before, after: editCard(before, change), change }
}

/** ical.js takes a delimiter behind an escaped backslash for escaped, so in version 4 no part ends with one. */
function readable<Change extends ContactChange>(version: Version, change: Change): Change {
  if (version === '3.0') return change
  const fields = ['familyName', 'givenName', 'middleName', 'nickname', 'organization', 'department'] as const
  const ends = fields.flatMap(field => {
    const value = change[field]
    return value?.endsWith('\\') ? [[field, `${value}.`]] : []
  })
  return { ...change, ...Object.fromEntries(ends) }
}

const LINES: Readonly<Record<keyof ContactFields, string>> = {
  displayName: 'FN',
  givenName: 'N',
  middleName: 'N',
  familyName: 'N',
  nickname: 'NICKNAME',
  organization: 'ORG',
  department: 'ORG',
  jobTitle: 'TITLE',
  emails: 'EMAIL',
  phones: 'TEL',
  birthday: 'BDAY',
  notes: 'NOTE',
}

/** The field as the other reader has it, in the form of the change that was asked for. */
function fieldOf(
  field: keyof ContactFields,
  properties: readonly OtherProperty[],
  version: Version,
): unknown {
  const lines = properties.filter(({ name }) => name === LINES[field])
  const part = (index: number) => lines[0]?.values[index]?.trim() || null
  const parts: Partial<Record<keyof ContactFields, number>> = {
    familyName: 0,
    givenName: 1,
    middleName: 2,
    department: 1,
  }
  if (field === 'emails' || field === 'phones')
    return lines.map(({ values }) => values.join()).filter(value => value.trim() !== '')
  if (field === 'notes') return lines[0]?.values[0] || null
  if (field !== 'birthday') return part(parts[field] ?? 0)
  const isOmitted = version === '3.0' && lines[0]?.parameters.some(([name]) => name === 'X-APPLE-OMIT-YEAR')
  return isOmitted ? part(0)!.replace('1604', '-') : part(0)
}

/** The change as the other reader is to have it. */
function wantedOf(field: keyof ContactFields, change: ContactChange): unknown {
  if (field === 'emails') return change.emails!.map(({ address }) => address)
  if (field === 'phones') return change.phones!.map(({ number }) => number)
  return field === 'notes'
    ? (change.notes?.replaceAll(/\r\n|[\r\u0085\u2028]/g, '\n') ?? null)
    : change[field]
}

/** Returns what the other reader finds wrong, or null. */
function findFault(write: Write, before: OtherProperty[] | string, after: OtherProperty[] | string) {
  if (typeof before === 'string' || typeof after === 'string') return { before, after }
  const changed = new Set(Object.keys(write.change) as Array<keyof ContactFields>)
  const names = new Set([...changed].map(field => LINES[field]))
  if (names.has('EMAIL') || names.has('TEL')) names.add('X-ABLABEL')
  const others = (all: readonly OtherProperty[]) => JSON.stringify(all.filter(({ name }) => !names.has(name)))
  if (others(before) !== others(after)) return { before: others(before), after: others(after) }
  for (const field of changed) {
    // A display name of null is made.
    if (field === 'displayName' && write.change.displayName === null) continue
    const [found, wanted] = [fieldOf(field, after, write.version), wantedOf(field, write.change)]
    if (JSON.stringify(found) !== JSON.stringify(wanted)) return { field, found, wanted }
  }
  return null
}

function readOthers(version: Version, cards: readonly Buffer[]): Array<OtherProperty[] | string> {
  if (version === '3.0') return askVobject(cards)
  return cards.map(card => {
    try {
      return askIcal(card)
    } catch (error) {
      return String(error)
    }
  })
}

test(
  `other programs read ${WRITES} written cards as they were meant`,
  { timeout: 60_000 + WRITES * 20 },
  () => {
    for (let from = 0; from < WRITES; from += BATCH) {
      const count = Math.min(BATCH, WRITES - from)
      const writes = Array.from({ length: count }, (_, index) => ({
        index: from + index,
        ...writeOf(from + index),
      }))
      for (const version of VERSIONS) {
        const own = writes.filter(write => write.version === version)
        const answers = readOthers(
          version,
          own.flatMap(({ before, after }) => [before, after]),
        )
        for (const [at, write] of own.entries()) {
          const fault = findFault(write, answers[2 * at]!, answers[2 * at + 1]!)
          expect(fault, `seed ${SEED}/${write.index}\n${write.after}`).toBeNull()
        }
      }
    }
  },
)

test('no write lets a control character in', () => {
  for (let index = 0; index < WRITES / 4; index++) {
    const random = seeded(`${SEED}/forbidden/${index}`)
    const version = VERSIONS[index % 2]!
    const change = forbiddenChange(random)
    expect(() => editCard(random.pick(BASES[version]), change), `${index}`).toThrow(UnwritableCard)
    const fields = { ...randomFields(random), ...change }
    expect(() => newCard(fields, 'u', { version }), `${index}`).toThrow(UnwritableCard)
  }
})
