import { describe, expect, test } from 'vitest'
import { failureOf } from '../conformance/changing-steps.ts'
import { graphSending } from './sending.ts'
import { outgoing, partOf, PlayedMailbox } from '../../../test/graph/played-mailbox.ts'

const MIB = 1024 * 1024
/** Bytes of a range, and of a file with three. */
const STEP = 12 * 320 * 1024
const TOTAL = 2 * STEP + 1_000

describe('a send with large files by Graph', () => {
  test('attaches large files beside the message, larger ones by ranges of 320 KiB', async () => {
    const mailbox = new PlayedMailbox()
    const { message } = outgoing([partOf('a.pdf', 2_999_999), partOf('b.pdf', 9 * MIB + 1)])
    await graphSending(mailbox.connection()).send(message)
    expect(mailbox.messages[0]!.attachments).toEqual([
      { name: 'a.pdf', bytes: 2_999_999 },
      { name: 'b.pdf', bytes: 9 * MIB + 1 },
    ])
    const ranges = mailbox.calls.filter(call => call.startsWith('range'))
    expect(ranges).toEqual([
      'range 0-3932160/9437185',
      'range 3932160-7864320/9437185',
      'range 7864320-9437185/9437185',
    ])
    expect(mailbox.calls.at(-1)).toBe('POST messages/draft-0/send')
  })

  test.each([
    ['cannot be taken apart', 'global', null],
    ['has a file too large for a cloud without upload sessions', 'gcc-high', [partOf('b.pdf', 4 * MIB)]],
  ] as const)('makes nothing of a message that %s', async (_, cloud, parts) => {
    const mailbox = new PlayedMailbox()
    const { message, traces } = outgoing(parts)
    if (!parts) message.content.byteLength = 3 * MIB
    const { recipients } = await graphSending(mailbox.connection(cloud)).send(message)
    expect(recipients.map(({ refusal }) => refusal)).toMatchObject([
      { isTooLarge: true },
      { isTooLarge: true },
    ])
    expect(traces).toEqual([])
    expect(mailbox.calls).toEqual([])
  })

  test.each([
    [403, ''],
    [400, 'ErrorAttachmentSizeLimitExceeded'],
  ])(
    'is too large where a mailbox has no upload session (%i %s), and leaves no draft',
    async (status, code) => {
      const mailbox = new PlayedMailbox()
      mailbox.faults.set('createUploadSession', { status, code })
      const { recipients } = await graphSending(mailbox.connection()).send(
        outgoing([partOf('b.pdf', 4 * MIB)]).message,
      )
      expect(recipients[0]!.refusal).toMatchObject({ isTooLarge: true, isPermanent: true })
      expect(mailbox.messages).toEqual([])
    },
  )

  test.each([
    ['createUploadSession', 404, 4 * MIB],
    ['createUploadSession', 409, 4 * MIB],
    ['/attachments', 404, 2_500_000],
  ])('is tried again if %s answers %i for the new draft', async (call, status, bytes) => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set(call, { status })
    const { message } = outgoing([partOf('b.pdf', bytes)])
    const failure = await failureOf(graphSending(mailbox.connection()).send(message))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    expect(mailbox.messages).toEqual([])
  })

  test.each([
    ['has all of it', { status: 503, takes: STEP }, ['session']],
    [
      'has a part of it',
      { status: 503, takes: 320 * 1024 },
      ['session', `range ${STEP + 320 * 1024}-${2 * STEP}/${TOTAL}`],
    ],
    ['has nothing of it', { status: 503, takes: 0 }, ['session', `range ${STEP}-${2 * STEP}/${TOTAL}`]],
    ['refuses it', { status: 416, takes: STEP }, ['session']],
  ])('goes on with a file if the answer to a range is lost and the session %s', async (_, fault, then) => {
    const mailbox = new PlayedMailbox()
    mailbox.rangeFaults.push(null, fault)
    await graphSending(mailbox.connection()).send(outgoing([partOf('b.pdf', TOTAL)]).message)
    expect(mailbox.calls.filter(call => /^(?:range|session)/.test(call))).toEqual([
      `range 0-${STEP}/${TOTAL}`,
      `range ${STEP}-${2 * STEP}/${TOTAL}`,
      ...then,
      `range ${2 * STEP}-${TOTAL}/${TOTAL}`,
    ])
    expect(mailbox.messages).toMatchObject([{ isDraft: false, attachments: [{ bytes: TOTAL }] }])
  })

  test('is tried again if the session ended while an answer was lost', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.rangeFaults.push(null, null, { status: 503, takes: TOTAL - 2 * STEP })
    const { message, traces } = outgoing([partOf('b.pdf', TOTAL)])
    const failure = await failureOf(graphSending(mailbox.connection()).send(message))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    expect(traces).toEqual([])
    expect(mailbox.messages).toEqual([])
  })

  test('is tried again if a session keeps failing', async () => {
    const mailbox = new PlayedMailbox()
    for (let times = 0; times < 10; times++) mailbox.rangeFaults.push({ status: 503, takes: 0 })
    const { message } = outgoing([partOf('b.pdf', TOTAL)])
    const failure = await failureOf(graphSending(mailbox.connection()).send(message))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    expect(mailbox.calls.filter(call => call.startsWith('range'))).toHaveLength(3)
    expect(mailbox.messages).toEqual([])
  })
})
