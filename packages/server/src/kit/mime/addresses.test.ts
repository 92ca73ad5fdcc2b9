import { describe, expect, test } from 'vitest'
import { readAddresses, readAuthor } from './addresses.ts'

const CASES: Array<[field: string, expected: Array<[name: string | null, address: string]>]> = [
  ['ada@example.com', [[null, 'ada@example.com']]],
  ['Ada Lovelace <ada@example.com>', [['Ada Lovelace', 'ada@example.com']]],
  [
    '"Lovelace, Ada" <ada@example.com>, bob@example.com',
    [
      ['Lovelace, Ada', 'ada@example.com'],
      [null, 'bob@example.com'],
    ],
  ],
  [String.raw`"Ada \"Countess\" L" <ada@example.com>`, [['Ada "Countess" L', 'ada@example.com']]],
  ['ada@example.com (Ada (the first) Lovelace)', [['Ada (the first) Lovelace', 'ada@example.com']]],
  ['Ada (Countess) <ada@example.com>', [['Ada', 'ada@example.com']]],
  ['=?utf-8?Q?Lovelace=2C_Ada?= <ada@example.com>', [['Lovelace, Ada', 'ada@example.com']]],
  ['"=?utf-8?Q?M=C3=BCller?=" <m@example.com>', [['Müller', 'm@example.com']]],
  ['undisclosed-recipients:;', []],
  [
    'Friends: ada@example.com, Bob <bob@example.com>;, eve@example.com',
    [
      [null, 'ada@example.com'],
      ['Bob', 'bob@example.com'],
      [null, 'eve@example.com'],
    ],
  ],
  ['<@relay.example,@other.example:ada@example.com>', [[null, 'ada@example.com']]],
  ['ada @ example . com', [[null, 'ada@example.com']]],
  ['Ada Lovelace ada@example.com', [['Ada Lovelace', 'ada@example.com']]],
  [
    'ada@example.com; bob@example.com',
    [
      [null, 'ada@example.com'],
      [null, 'bob@example.com'],
    ],
  ],
  ['"ada lovelace"@example.com', [[null, '"ada lovelace"@example.com']]],
  // CVE-2025-14874 and similar: quoted text never becomes the address.
  ['"eve@evil.example x"@internal.example', [[null, '"eve@evil.example x"@internal.example']]],
  ['"ada@example.com" <eve@evil.example>', [['ada@example.com', 'eve@evil.example']]],
  ['Ada <ada@example.com', [['Ada', 'ada@example.com']]],
  ['<ada@example.com', [[null, 'ada@example.com']]],
  ['MAILER-DAEMON', [[null, 'MAILER-DAEMON']]],
  ['Mail Delivery System <>', []],
  ['"ada@example.com" <ADA@example.com>', [[null, 'ADA@example.com']]],
  ['ada@[IPv6:::1]', [[null, 'ada@[IPv6:::1]']]],
  ['', []],
  [', , ;', []],
]

describe('readAddresses', () => {
  test.each(CASES)('reads %j', (field, expected) => {
    expect(readAddresses(field)).toEqual(expected.map(([name, address]) => ({ name, address })))
  })

  test('reads at most 2,000 addresses', () => {
    expect(readAddresses('a@b.example,'.repeat(4000))).toHaveLength(2000)
  })
})

describe('readAuthor', () => {
  test.each<[field: string | null, expected: [name: string | null, address: string] | null]>([
    ['Doe, John <john@x.test>', ['John', 'john@x.test']],
    ['Doe, John, Dr. <john@x.test>', ['Dr.', 'john@x.test']],
    ['Example, Inc. <sales@x.test>, Bob <bob@x.test>', ['Inc.', 'sales@x.test']],
    ['Doe; John <john@x.test>', ['John', 'john@x.test']],
    ['"Doe, John" <john@x.test>', ['Doe, John', 'john@x.test']],
    ['john@x.test, ada@x.test', [null, 'john@x.test']],
    ['Mail Delivery System <>, john@x.test', [null, 'john@x.test']],
    ['MAILER-DAEMON', [null, 'MAILER-DAEMON']],
    ['root, postmaster', [null, 'root']],
    ['Mail Delivery System <>', ['Mail Delivery System', '']],
    ['', null],
    [null, null],
  ])('of %j is %j', (field, expected) => {
    expect(readAuthor(field)).toEqual(expected && { name: expected[0], address: expected[1] })
  })
})
