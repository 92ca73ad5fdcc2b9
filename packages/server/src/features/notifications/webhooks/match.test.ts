import { eventSamples } from '@waxwing/contract/event-samples.ts'
import { EVENT_TYPES, type EventType } from '@waxwing/contract/events.ts'
import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import { describe, expect, test } from 'vitest'
import { NO_FILTERS } from './filters.ts'
import { compileFilters, eventFacts } from './match.ts'

interface Happened {
  type: EventType
  accountId: string | null
  data: Record<string, unknown>
}

const event = (type: EventType, data: object = eventSamples[type], accountId: string | null = 'a1') => ({
  type,
  accountId,
  data: data as Happened['data'],
})
const filtersOf = (
  message: Partial<WebhookFilters['message']>,
  rest: Partial<WebhookFilters> = {},
): WebhookFilters => ({ ...NO_FILTERS, ...rest, message: { ...NO_FILTERS.message, ...message } })
const passes = (filters: WebhookFilters, happened: Happened) =>
  compileFilters(filters).matches(eventFacts(happened))

const message = (changes: object = {}, mailboxes: object[] = []) => ({
  message: { ...eventSamples['message.created'].message, ...changes },
  mailboxes,
})

describe('filters', () => {
  test('that are empty pass every type', () => {
    for (const type of EVENT_TYPES)
      expect({ type, isPassed: passes(NO_FILTERS, event(type)) }).toMatchObject({ isPassed: true })
  })

  test('with accounts leave out events without an account', () => {
    const filters = filtersOf({}, { accountIds: ['a1', 'a2'] })
    expect(passes(filters, event('account.updated', {}, 'a1'))).toBe(true)
    expect(passes(filters, event('account.updated', {}, 'a3'))).toBe(false)
    expect(passes(filters, event('account.purged', { accountId: 'a1' }, null))).toBe(false)
  })

  test('with types pass these only', () => {
    const filters = filtersOf({}, { eventTypes: ['send.sent', 'contact.created'] })
    expect(EVENT_TYPES.filter(type => passes(filters, event(type)))).toEqual(['send.sent', 'contact.created'])
  })

  /** The types that meet each criterion. Types that criteria do not concern always pass. */
  const MAIL = ['message.created', 'message.updated', 'message.deleted', 'message.classified']
  const TO = [...MAIL, 'message.bounced', 'message.opened', 'message.clicked']
  const SENDS = ['send.sent', 'send.retrying', 'send.failed', 'send.rescheduled']
  const ALL = {
    message: { ...message().message, mailboxIds: ['m1'], subject: 'Hello', hasAttachments: true },
  }
  const answered = {
    ...ALL,
    mailboxes: [{ id: 'm1', role: 'inbox' }],
    recipients: [{ address: 'grace@example.org' }],
    recipient: 'grace@example.org',
    outbox: { to: [{ address: 'grace@example.org' }], subject: 'Hello', hasAttachments: true },
  }
  test.each<[string, Partial<WebhookFilters['message']>, object, readonly string[]]>([
    ['mailboxIds', { mailboxIds: ['m1'] }, {}, MAIL],
    ['mailboxRoles', { mailboxRoles: ['inbox'] }, {}, MAIL],
    ['from', { from: ['grace@example.org'] }, {}, MAIL],
    ['to', { to: ['grace@example.org'] }, { to: [{ address: 'grace@example.org' }] }, TO],
    ['subjectContains', { subjectContains: ['ell'] }, {}, MAIL],
    ['hasAttachments', { hasAttachments: true }, {}, MAIL],
    ['direction inbound', { direction: 'inbound' }, {}, MAIL],
    ['direction outbound', { direction: 'outbound' }, { direction: 'outbound' }, [...TO, ...SENDS]],
  ])(
    'with %s pass the types that answer it, and all that it does not concern',
    (_, criterion, changes, types) => {
      const filters = filtersOf(criterion)
      const data = { ...answered, message: { ...answered.message, ...changes } }
      const concerned = EVENT_TYPES.filter(type => /^(?:message|send)\./.test(type))
      const passed = concerned.filter(type => passes(filters, event(type, data)))
      expect(passed.toSorted()).toEqual([...types].toSorted())
      const others = EVENT_TYPES.filter(type => !concerned.includes(type))
      expect(others.filter(type => !passes(filters, event(type)))).toEqual([])
    },
  )

  test.each<[string, Partial<WebhookFilters['message']>, object, boolean]>([
    [
      'an address in another case',
      { from: ['ADA@Example.COM'] },
      { from: { address: 'ada@exAMPLE.com' } },
      true,
    ],
    ['another tag', { from: ['ada@example.com'] }, { from: { address: 'ada+x@example.com' } }, false],
    ['a listed domain', { from: ['@example.com'] }, { from: { address: 'ada@Example.com' } }, true],
    ['a domain below', { from: ['@example.com'] }, { from: { address: 'ada@mail.example.com' } }, false],
    [
      'a domain that ends alike',
      { from: ['@example.com'] },
      { from: { address: 'a@badexample.com' } },
      false,
    ],
    [
      'a domain in A-labels',
      { from: ['@bücher.example'] },
      { from: { address: 'a@xn--bcher-kva.example' } },
      true,
    ],
    [
      'a domain in Unicode',
      { from: ['@xn--bcher-kva.example'] },
      { from: { address: 'a@BÜCHER.example' } },
      true,
    ],
    [
      'a composed local part',
      { from: ['jose\u0301@example.com'] },
      { from: { address: 'JOSÉ@example.com' } },
      true,
    ],
    ['no sender', { from: ['@example.com'] }, { from: null }, false],
    ['a sender without an address', { from: ['@example.com'] }, { from: { address: '' } }, false],
    ['Cc', { to: ['ada@example.com'] }, { to: [], cc: [{ address: 'Ada@example.com' }] }, true],
    ['Bcc', { to: ['ada@example.com'] }, { to: [], bcc: [{ address: 'ada@example.com' }] }, false],
    [
      'a phrase in another case',
      { subjectContains: ['QUARTER'] },
      { subject: 'The quarterly figures' },
      true,
    ],
    ['a phrase composed otherwise', { subjectContains: ['cafe\u0301'] }, { subject: 'CAFÉ' }, true],
    ['a capital sigma at the end', { subjectContains: ['ΟΔΟΣ'] }, { subject: 'οδοσα' }, true],
    ['no subject', { subjectContains: ['a'] }, { subject: null }, false],
    ['no attachments', { hasAttachments: false }, { hasAttachments: false }, true],
    ['attachments', { hasAttachments: false }, { hasAttachments: true }, false],
  ])('compare %s', (_, criterion, changes, isPassed) => {
    expect(passes(filtersOf(criterion), event('message.created', message(changes)))).toBe(isPassed)
  })

  test('need one of the listed mailboxes or roles, and every other criterion', () => {
    const filters = filtersOf({ mailboxIds: ['m1'], mailboxRoles: ['sent'], direction: 'outbound' })
    const at = (id: string, role: string, direction: string) =>
      passes(filters, event('message.created', message({ mailboxIds: [id], direction }, [{ id, role }])))
    expect(at('m1', 'custom', 'outbound')).toBe(true)
    expect(at('m2', 'sent', 'outbound')).toBe(true)
    expect(at('m2', 'inbox', 'outbound')).toBe(false)
    expect(at('m1', 'sent', 'inbound')).toBe(false)
  })

  test('do not match fields that an emptied event lacks', () => {
    for (const type of EVENT_TYPES.filter(name => name.startsWith('message.'))) {
      expect(passes(filtersOf({ subjectContains: ['a'] }), event(type, {}))).toBe(false)
    }
  })
})
