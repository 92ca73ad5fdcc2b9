import { isMailAddress } from '@waxwing/contract/mail/address-input.ts'
import { expect, test } from 'vitest'
import { envelopeRecipients } from '../../src/features/sending/compose/rules.ts'
import { needsSmtpUtf8 } from '../../src/kit/mail-address.ts'
import { readAddresses } from '../../src/kit/mime/addresses.ts'
import { addressField } from '../../src/kit/mime-writing/fields.ts'
import { askPython } from '../bodies/ask-python.ts'
import { seeded } from '../seeded.ts'

const SCRAPS = [
  ...'abzAZ09.-_+@"\\()<>[]:;, =?%!#/{}\'`~^|*$&',
  'ada',
  'example.com',
  '@example.org',
  '@bücher.example',
  '@xn--bcher-kva.example',
  'ü',
  'δ',
  'ß',
  '。',
  '\u200b',
  '\t',
  '\r\n',
  '=?utf-8?q?x?=',
] as const

/** An accepted address must mean the same to everybody: no reader may see another recipient. */
test('addresses that are accepted are read by Python and by us as the envelope has them', () => {
  const accepted = new Set<string>()
  for (let seed = 0; seed < 20_000; seed++) {
    const random = seeded(`address ${seed}`)
    let address = ''
    for (let count = random.between(1, 8); count > 0; count--) address += random.pick(SCRAPS)
    if (random.chance(0.8))
      address += random.pick(['@example.com', '@a.b.example', '@BÜCHER.example'] as const)
    if (isMailAddress(address)) accepted.add(address)
  }
  const addresses = [...accepted]
  expect(addresses.length).toBeGreaterThan(500)
  const fields = addresses.map(address => addressField('To', [{ name: 'Bo', address }], 'utf8'))
  const read = askPython(fields.map(field => Buffer.from(`${field}\r\n`)))
  for (const [index, address] of addresses.entries()) {
    const [recipient, ...others] = envelopeRecipients([{ name: null, address }])
    expect(others).toEqual([])
    expect(recipient).toMatch(/@[\w.-]+$/)
    const value = fields[index]!.slice('To:'.length)
    expect(readAddresses(value), address).toEqual([{ name: 'Bo', address: recipient }])
    // Python reads headers as ASCII.
    if (!needsSmtpUtf8(address)) expect(read[index]!.to, address).toEqual([['Bo', recipient]])
  }
})
