import fc from '../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { arrangeMailboxes, type ListedMailbox, type Namespaces } from './mailboxes.ts'
import { decodeMailboxName, encodeMailboxName } from './names.ts'

const OWN: Namespaces = { personalPrefix: '', foreignPrefixes: [] }

const row = (wireName: string, separator: string | null = '/', ...attributes: string[]): ListedMailbox => ({
  wireName,
  separator,
  attributes: new Set(attributes),
})

const arrange = (rows: ListedMailbox[], namespaces = OWN) =>
  arrangeMailboxes(rows, namespaces, () => null).mailboxes.map(({ mailbox }) => mailbox)

describe('arrangeMailboxes', () => {
  test('puts parents before children, and adds parents that were not listed', () => {
    const mailboxes = arrange([row('A/B/C'), row('INBOX'), row('Z', '/', '\\Noselect'), row('Z/Y')])

    expect(mailboxes.map(({ key, parentKey, source }) => [key, parentKey, source])).toEqual([
      ['INBOX', null, 'INBOX'],
      ['Z', null, null],
      ['A', null, null],
      ['Z/Y', 'Z', 'Z/Y'],
      ['A/B', 'A', null],
      ['A/B/C', 'A/B', 'A/B/C'],
    ])
  })

  test("removes the prefix of the namespace, and leaves out other people's mailboxes", () => {
    const namespaces = { personalPrefix: 'INBOX.', foreignPrefixes: ['user.', 'shared.'] }
    const mailboxes = arrange(
      [
        row('INBOX', '.'),
        row('INBOX.Work', '.'),
        row('INBOX.Work.2024', '.'),
        row('user.eve', '.'),
        row('shared', '.'),
        row('INBOX.', '.'),
      ],
      namespaces,
    )

    expect(mailboxes.map(({ key, path, name, parentKey }) => [key, path, name, parentKey])).toEqual([
      ['INBOX', 'INBOX', 'INBOX', null],
      ['INBOX.Work', 'Work', 'Work', null],
      ['INBOX.Work.2024', 'Work/2024', '2024', 'INBOX.Work'],
    ])
  })

  test('distinguishes a slash in a name from the slash of a path', () => {
    expect(arrange([row('a/b', '.'), row('a.b', '.')]).map(({ name, path }) => [name, path])).toEqual([
      ['a/b', 'a\u2215b'],
      ['a', 'a'],
      ['b', 'a/b'],
    ])
    expect(arrange([row('a/b', null)])).toMatchObject([{ name: 'a/b', parentKey: null }])
  })

  test('drops names that no command can contain, and removes control characters from others', () => {
    const mailboxes = arrange([
      row('a\r\nA1 DELETE INBOX'),
      row('b\0'),
      row(''),
      row('c\u0007\u001b[2J'),
      row('&AAA-'),
      row('x'.repeat(2000)),
    ])

    expect(mailboxes.map(({ key, name }) => [key, name])).toEqual([['c\u0007\u001b[2J', 'c\ufffd\ufffd[2J']])
  })

  test('returns at most 10,000 mailboxes, and each key once', () => {
    expect(arrange(Array.from({ length: 20_000 }, (_, index) => row(`m${index}`)))).toHaveLength(10_000)
    expect(arrange([row('a'), row('a'), row('inbox'), row('INBOX')])).toHaveLength(2)
  })

  test('prefers attributes to names, and gives each role once', () => {
    const mailboxes = arrange([
      row('INBOX', '/', '\\Sent'),
      row('Sent'),
      row('Gesendet', '/', '\\Sent'),
      row('Trash', '/', '\\Noselect'),
      row('Papierkorb'),
      row('Deleted Items'),
      row('Spam', '/', '\\junk'),
      row('Junk'),
      row('Everything', '/', '\\All'),
      row('Projects/Archive'),
    ])
    expect(Object.fromEntries(mailboxes.map(({ key, role }) => [key, role]))).toMatchObject({
      INBOX: 'inbox',
      Sent: 'custom',
      Gesendet: 'sent',
      Trash: 'custom',
      'Deleted Items': 'trash',
      Papierkorb: 'custom',
      Spam: 'junk',
      Junk: 'custom',
      Everything: 'all',
      'Projects/Archive': 'custom',
    })
  })

  test.each([
    ['Отправленные', 'sent'],
    ['寄件備份', 'sent'],
    ['Éléments envoyés', 'sent'],
    ['Taslaklar', 'drafts'],
    ['下書き', 'drafts'],
    ['Entwürfe', 'drafts'],
    ['Κάδος απορριμμάτων', 'trash'],
    ['Papperskorgen', 'trash'],
    ['휴지통', 'trash'],
    ['Nevyžádaná pošta', 'junk'],
    ['Roskaposti', 'junk'],
    ['ארכיון', 'archive'],
  ])('recognises %s as %s', (name, role) => {
    expect(arrange([row(encodeMailboxName(name))])).toMatchObject([{ name, role }])
    expect(
      arrange([row('INBOX', '.'), row(`INBOX.${encodeMailboxName(name.normalize('NFD'))}`, '.')]).at(-1)
        ?.role,
    ).toBe(role)
  })
})

describe('mailbox names on the wire', () => {
  test.each([
    ['Entw&APw-rfe', 'Entwürfe'],
    ['~peter/mail/&U,BTFw-/&ZeVnLIqe-', '~peter/mail/台北/日本語'],
    ['R&-D', 'R&D'],
    ['plain', 'plain'],
  ])('%s is %s', (wire, name) => {
    expect(decodeMailboxName(wire)).toBe(name)
    expect(encodeMailboxName(name)).toBe(wire)
  })

  test('survive encoding and decoding, and are ASCII', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), name => {
        expect(decodeMailboxName(encodeMailboxName(name))).toBe(name)
        expect(encodeMailboxName(name)).toMatch(/^[ -~]*$/)
      }),
    )
    fc.assert(fc.property(fc.string(), wire => decodeMailboxName(wire).isWellFormed()))
  })
})
