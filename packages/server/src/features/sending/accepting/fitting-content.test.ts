import { expect, test } from 'vitest'
import { Refusal } from '../../../calls/refuse.ts'
import type { StoredContent } from '../compose/stored-content.ts'
import { requireFittingContent } from './fitting-content.ts'

const MIB = 1024 * 1024

/** A message with a text and files of these sizes, in bytes. */
function messageOf(textBytes: number, fileBytes: readonly number[], type = 'multipart/mixed'): StoredContent {
  const line = `${'x'.repeat(74)}\r\n`
  const text = line.repeat(Math.ceil(textBytes / line.length))
  const files = fileBytes.map(
    bytes =>
      `\r\n--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n` +
      `Content-Transfer-Encoding: base64\r\n\r\n${Buffer.alloc(bytes).toString('base64')}`,
  )
  const raw = Buffer.from(
    `Date: Thu, 01 Jan 1970 00:00:00 +0000\r\nContent-Type: ${type}; boundary=b\r\n\r\n--b\r\n\r\n${text}${files.join('')}\r\n--b--\r\n`,
  )
  return {
    layout: { dateAt: 6, ranges: [], is8Bit: false },
    byteLength: raw.length,
    async *open() {
      yield raw
    },
  }
}

const outcomeOf = async (account: Parameters<typeof requireFittingContent>[0], stored: StoredContent) => {
  try {
    await requireFittingContent(account, stored)
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal) return error.reason
    throw error
  }
}

const large = messageOf(100, [4 * MIB])
const small = messageOf(100, [2_900_000, 2_900_000])
const endless = messageOf(3 * MIB, [100])
const signed = messageOf(100, [3 * MIB], 'multipart/signed')

test.each([
  ['global', large, 'accepted'],
  ['global', endless, 'attachments_too_large'],
  ['global', signed, 'attachments_too_large'],
  ['china', large, 'accepted'],
  ['gcc-high', large, 'attachments_too_large'],
  ['gcc-high', small, 'accepted'],
  ['dod', large, 'attachments_too_large'],
  ['dod', small, 'accepted'],
] as const)(
  'on %s, a large message is taken if its files can be left out (%#)',
  async (cloud, stored, outcome) => {
    expect(await outcomeOf({ provider: 'graph', cloud }, stored)).toBe(outcome)
  },
)

test('providers that take messages whole take these as well', async () => {
  for (const stored of [large, endless, signed])
    expect(await outcomeOf({ provider: 'gmail', cloud: null }, stored)).toBe('accepted')
})
