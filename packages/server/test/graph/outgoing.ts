import { composeMessage } from '../../src/features/sending/compose/compose.ts'
import type { Composition } from '../../src/features/sending/compose/composition.ts'
import { wireForm } from '../../src/features/sending/compose/stored-content.ts'
import { openSlicedWork } from '../../src/kit/sliced-work.ts'
import type { OutgoingMessage } from '../../src/providers/sending.ts'
import { HANDED_OVER, store } from '../sending/read-composed.ts'
import type { Office } from './reach-writing.ts'

const inSlices = openSlicedWork()('a')
export const MIB = 1024 * 1024
export const OUTBOX_ID = '01a1fc14-5d3e-7c50-9b1d-4d6f2a8e7b90'
export const ID = `<${OUTBOX_ID}.nonce@example.com>`

export function fileOf(filename: string, bytes: number, traits: object = {}) {
  return {
    filename,
    contentType: 'application/pdf',
    contentId: null,
    isInline: false,
    byteLength: bytes,
    async *open() {
      for (let at = 0; at < bytes; at += 65_536)
        yield Buffer.alloc(Math.min(65_536, bytes - at), `${filename}${at}`)
    },
    ...traits,
  }
}

/** A message with many fields, as the service hands it over. */
export async function messageTo(
  office: Office,
  to: string,
  change: Partial<Composition> = {},
): Promise<OutgoingMessage & { traces: Array<string | null> }> {
  const composed = await composeMessage(
    {
      internetMessageId: ID,
      outboxId: OUTBOX_ID,
      draftMark: null,
      calendar: null,
      unsubscribeUrl: 'https://mail.example/u/token',
      wireHtml: null,
      date: new Date(0),
      from: { name: 'Eva', address: office.email },
      to: [{ name: 'Grüße', address: to }],
      cc: [],
      bcc: [{ name: null, address: 'hidden@elsewhere.test' }],
      replyTo: [],
      subject: 'Zahlen für heute',
      inReplyTo: '<first@example.net>',
      references: ['<zeroth@example.net>', '<first@example.net>'],
      importance: 'high',
      headers: [
        { name: 'X-One', value: '1' },
        { name: 'X-Two', value: '2' },
        { name: 'X-Three', value: '3' },
        { name: 'X-Four', value: '4' },
        { name: 'X-Five', value: '5' },
        { name: 'X-Six', value: '6' },
        { name: 'Auto-Submitted', value: 'auto-generated' },
        { name: 'Feedback-ID', value: 'a:b' },
      ],
      text: 'Hello',
      html: '<p>Hello <img src="cid:pic@x"></p>',
      signature: null,
      attachments: [],
      ...change,
    },
    inSlices,
  )
  const options = { date: HANDED_OVER, has8BitMime: true, hasSmtpUtf8: false, hasBcc: true }
  const traces: Array<string | null> = []
  return {
    envelope: { from: office.email, to: [to, 'hidden@elsewhere.test'] },
    content: await wireForm(await store(composed), options),
    internetMessageId: ID,
    outboxId: OUTBOX_ID,
    mayBePrepared: false,
    beforePreparing: async () => {},
    envelopeId: OUTBOX_ID,
    threadId: null,
    beforeHandOver: async trace => void traces.push(trace),
    signal: new AbortController().signal,
    traces,
  }
}
