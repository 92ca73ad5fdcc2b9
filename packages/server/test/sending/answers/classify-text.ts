import { classifyReply, type Verdict } from '../../../src/features/sending/classification/rules.ts'
import { readOutline } from '../../../src/kit/mime/outline.ts'

/** The day on which replies arrive in tests, a Tuesday. */
export const RECEIVED = new Date('2026-03-10T09:00:00Z')

/** The verdict on a reply to Ada, by default Grace's, who is known to be no contact of others. */
export function classify(
  text: string,
  fields: readonly string[] = [],
  subject = 'Re: The quarterly figures',
  from = 'Grace <grace@example.org>',
): Verdict | null {
  const source = [
    `From: ${from}`,
    `Subject: ${subject}`,
    ...fields,
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
  ].join('\n')
  return classifyReply({
    outline: readOutline(Buffer.from(source)),
    receivedAt: RECEIVED,
    knownAddresses: ['grace@example.org', 'ada@example.com'],
  })
}
