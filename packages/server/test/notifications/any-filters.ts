import { eventSamples } from '@waxwing/contract/event-samples.ts'
import { EVENT_TYPES, type EventType } from '@waxwing/contract/events.ts'
import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import type { Random } from '../seeded.ts'

/** Facts of an event that filters ask for. */
export interface Happened {
  type: EventType
  accountId: string | null
  data: Record<string, unknown>
}

const ACCOUNTS = [1, 2, 3].map(number => `00000000-0000-7000-8000-00000000000${number}`)
/** Spellings that are the same, and some that only look so. */
const PARTIES = [
  'ada@example.com',
  'Ada@EXAMPLE.com',
  'josé@bücher.example',
  'jose\u0301@xn--bcher-kva.example',
  'x@mail.example.com',
  'ada@example.org',
]
const DOMAINS = ['@example.com', '@Bücher.Example', '@xn--bcher-kva.example', '@example.org']
const SUBJECTS = ['Quarterly figures', 'CAFÉ au lait', 'cafe\u0301', 'Straße', 'ὈΔΥΣΣΕΎΣ', '', null]
const PHRASES = ['quarter', 'CAFÉ', 'cafe\u0301', 'AU', 'straße', 'ς', 'figures', ' ']
const MAILBOXES = [
  { id: '00000000-0000-7000-8000-0000000000a1', role: 'inbox' },
  { id: '00000000-0000-7000-8000-0000000000a2', role: 'sent' },
  { id: '00000000-0000-7000-8000-0000000000a3', role: 'custom' },
  { id: '00000000-0000-7000-8000-0000000000a4', role: 'inbox' },
] as const

const some = <T>(random: Random, from: readonly T[], most: number): T[] =>
  Array.from({ length: random.between(0, most) }, () => random.pick(from))

export function anyFilters(random: Random): WebhookFilters {
  const rarely = <T>(list: T[]) => (random.between(0, 2) === 0 ? list : [])
  return {
    eventTypes: rarely(some(random, EVENT_TYPES, 20)),
    accountIds: rarely(some(random, ACCOUNTS.slice(0, 2), 2)),
    message: {
      mailboxIds: rarely(some(random, MAILBOXES, 2).map(({ id }) => id)),
      mailboxRoles: rarely(some(random, MAILBOXES, 1).map(({ role }) => role)),
      from: rarely(some(random, [...PARTIES, ...DOMAINS], 3)),
      to: rarely(some(random, [...PARTIES, ...DOMAINS], 3)),
      subjectContains: rarely(some(random, PHRASES, 2)),
      hasAttachments: random.pick([null, null, true, false]),
      direction: random.pick([null, null, 'inbound', 'outbound'] as const),
    },
  }
}

export function anyEvent(random: Random): Happened {
  const people = (most: number) => some(random, PARTIES, most).map(address => ({ name: null, address }))
  const mailboxes = some(random, MAILBOXES, 2)
  const data: Happened['data'] = {
    ...eventSamples[random.pick(EVENT_TYPES)],
    message: {
      mailboxIds: mailboxes.map(({ id }) => id),
      subject: random.pick(SUBJECTS),
      from: people(1)[0] ?? null,
      to: people(2),
      cc: people(1),
      bcc: people(1),
      hasAttachments: random.between(0, 1) === 1,
      direction: random.pick(['inbound', 'outbound']),
    },
    mailboxes,
    recipients: people(2).map(({ address }) => ({ address, status: '5.1.1', diagnostic: '' })),
    recipient: random.pick([null, ...PARTIES]),
    outbox: { to: people(2), from: people(1)[0], subject: 'Quarterly figures', hasAttachments: true },
  }
  // Two thirds are of the types that criteria concern.
  const concerned = EVENT_TYPES.filter(type => type.startsWith('message.') || type.startsWith('send.'))
  const type = random.pick(random.between(0, 2) === 0 ? EVENT_TYPES : concerned)
  return { type, accountId: random.pick([...ACCOUNTS, null]), data }
}

/** The same rule written as a table: where in the data each type holds what a criterion asks for. */
const WHOLE = {
  box: ['message.mailboxIds.*'],
  role: ['mailboxes.*.role'],
  from: ['message.from.address'],
  to: ['message.to.*.address', 'message.cc.*.address'],
  subject: ['message.subject'],
  attached: ['message.hasAttachments'],
  direction: ['message.direction'],
}
type Places = Partial<Record<keyof typeof WHOLE, string[]>>
const ANSWERS: Partial<Record<EventType, Places>> = {
  'message.created': WHOLE,
  'message.updated': WHOLE,
  'message.deleted': WHOLE,
  'message.classified': WHOLE,
  'message.bounced': { to: ['recipients.*.address'], direction: ['=outbound'] },
  'message.opened': { to: ['recipient'], direction: ['=outbound'] },
  'message.clicked': { to: ['recipient'], direction: ['=outbound'] },
  'send.sent': { direction: ['=outbound'] },
  'send.retrying': { direction: ['=outbound'] },
  'send.failed': { direction: ['=outbound'] },
  'send.rescheduled': { direction: ['=outbound'] },
}

function valuesAt(data: unknown, places: string[] = []): unknown[] {
  return places.flatMap(place =>
    place.startsWith('=')
      ? [place.slice(1)]
      : place
          .split('.')
          .reduce<unknown[]>(
            (found, step) =>
              found.flatMap((value): unknown[] => {
                if (step === '*') return Array.isArray(value) ? value : []
                return value == null ? [] : [Object(value)[step]]
              }),
            [data],
          )
          .filter(value => value != null),
  )
}

/** Compares by the collation rules of ICU instead of by case conversion. */
const sameText = new Intl.Collator('und', { sensitivity: 'accent' })
function sameParty(listed: string, address: string): boolean {
  const [local = '', domain = ''] = [address.slice(0, address.lastIndexOf('@')), address.split('@').at(-1)]
  const [listedLocal = '', listedDomain = ''] = listed.split('@')
  const host = (name: string) => new URL(`http://${name}`).hostname
  if (host(domain) !== host(listedDomain)) return false
  return listed.startsWith('@') || sameText.compare(local, listedLocal) === 0
}
function holds(subject: string, phrase: string): boolean {
  const [within, sought] = [[...subject.normalize()], [...phrase.normalize()]]
  return within.some((_, at) => {
    const part = within.slice(at, at + sought.length)
    return (
      part.length === sought.length && part.every((c, nth) => sameText.compare(c, sought[nth] ?? '') === 0)
    )
  })
}

/** Whether an event passes, by the rule written as a table. */
export function passes(
  { eventTypes, accountIds, message: asked }: WebhookFilters,
  happened: Happened,
): boolean {
  if (eventTypes.length > 0 && eventTypes.every(type => type !== happened.type)) return false
  if (accountIds.length > 0 && accountIds.every(id => id !== happened.accountId)) return false
  const places = ANSWERS[happened.type]
  if (!places) return true
  const at = (name: keyof Places) => valuesAt(happened.data, places[name])
  const anyOf = (listed: readonly string[], found: unknown[], same: (l: string, f: string) => boolean) =>
    listed.some(entry => found.some(value => same(entry, String(value))))
  const inMailbox =
    anyOf(asked.mailboxIds, at('box'), (l, f) => l === f) ||
    anyOf(asked.mailboxRoles, at('role'), (l, f) => l === f)
  return [
    asked.mailboxIds.length + asked.mailboxRoles.length === 0 || inMailbox,
    asked.from.length === 0 || anyOf(asked.from, at('from'), sameParty),
    asked.to.length === 0 || anyOf(asked.to, at('to'), sameParty),
    asked.subjectContains.length === 0 || anyOf(asked.subjectContains, at('subject'), (l, f) => holds(f, l)),
    asked.hasAttachments === null || at('attached').includes(asked.hasAttachments),
    asked.direction === null || at('direction').includes(asked.direction),
  ].every(Boolean)
}
