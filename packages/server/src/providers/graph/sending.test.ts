import { describe, expect, test } from 'vitest'
import { failureOf } from '../conformance/changing-steps.ts'
import { sendPaceOf } from './send-pace.ts'
import { graphSending } from './sending.ts'
import { ID, outgoing, partOf, PlayedMailbox } from '../../../test/graph/played-mailbox.ts'

describe('a send by Graph', () => {
  test('makes a draft, and sends it by its id, which is the trace', async () => {
    const mailbox = new PlayedMailbox()
    const { message, traces } = outgoing()
    const outcome = await graphSending(mailbox.connection()).send(message)
    expect(outcome).toEqual({
      recipients: message.envelope.to.map(address => ({ address, refusal: null })),
      given: { key: 'draft-0', threadId: 'thread' },
    })
    expect(traces).toEqual(['draft-0'])
    expect(mailbox.calls).toEqual(['POST messages', 'POST messages/draft-0/send'])
  })

  test('is too large if Exchange answers 200, and makes nothing', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('POST messages', { status: 200 })
    const { recipients } = await graphSending(mailbox.connection()).send(outgoing().message)
    expect(recipients[0]!.refusal).toMatchObject({ isTooLarge: true })
    expect(mailbox.calls).toEqual(['POST messages', 'GET mailFolders/drafts/messages'])
  })

  test('removes the drafts of earlier attempts first', async () => {
    const mailbox = new PlayedMailbox()
    const old = { isDraft: true, internetMessageId: ID, parentFolderId: 'drafts', attachments: [] }
    mailbox.messages.push(
      { ...old, id: 'old' },
      { ...old, id: 'other', internetMessageId: '<o@example.com>' },
    )
    const { traces, message } = outgoing(null, { mayBePrepared: true })
    await graphSending(mailbox.connection()).send(message)
    expect(mailbox.messages.map(({ id, isDraft }) => [id, isDraft])).toEqual([
      ['other', true],
      [traces[0], false],
    ])
  })

  test('is not made twice if an earlier attempt was sent after all', async () => {
    const mailbox = new PlayedMailbox()
    const sent = { isDraft: false, internetMessageId: ID, parentFolderId: 'sentitems', attachments: [] }
    mailbox.messages.push({ ...sent, id: 'sent' })
    const { message, traces } = outgoing(null, { mayBePrepared: true })
    const outcome = await graphSending(mailbox.connection()).send(message)
    expect(outcome.given.key).toBe('sent')
    expect(traces).toEqual([])
    expect(mailbox.messages).toHaveLength(1)
  })

  test('is not made twice if the copy of an earlier attempt is in the mailbox of the delegate', async () => {
    const [mailbox, delegate] = [new PlayedMailbox(), new PlayedMailbox()]
    const sent = { isDraft: false, internetMessageId: ID, parentFolderId: 'sentitems', attachments: [] }
    delegate.messages.push({ ...sent, id: 'sent' })
    const { message, traces } = outgoing(null, { mayBePrepared: true })
    const { recipients, given } = await graphSending(mailbox.connection('global', delegate)).send(message)
    expect(recipients.every(({ refusal }) => refusal === null)).toBe(true)
    expect(given.key).toBeNull()
    expect(traces).toEqual([])
    expect(mailbox.messages).toEqual([])
  })

  test('keeps a draft of an earlier attempt that is sent while it is looked for', async () => {
    const mailbox = new PlayedMailbox()
    const old = { id: 'old', isDraft: true, internetMessageId: ID, parentFolderId: 'drafts', attachments: [] }
    mailbox.messages.push(old)
    mailbox.onAnswered = call => {
      if (call === 'GET messages') Object.assign(old, { isDraft: false, parentFolderId: 'sentitems' })
    }
    const { message, traces } = outgoing(null, { mayBePrepared: true })
    const { recipients, given } = await graphSending(mailbox.connection()).send(message)
    expect(recipients.every(({ refusal }) => refusal === null)).toBe(true)
    expect(given.key).toBe('old')
    expect(traces).toEqual([])
    expect(mailbox.messages).toEqual([old])
  })

  test.each([400, 404, 429])('counts as accepted if it was sent in spite of %i', async status => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/send', { status, makes: true })
    const { recipients, given } = await graphSending(mailbox.connection()).send(outgoing().message)
    expect(recipients.every(({ refusal }) => refusal === null)).toBe(true)
    expect(given.key).toBe('draft-0')
    expect(mailbox.messages).toMatchObject([{ id: 'draft-0', isDraft: false }])
  })

  test('is not made again if a person sends the draft before it has its files', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/attachments', { status: 400, makes: true })
    mailbox.onAnswered = call => {
      if (call.endsWith('/attachments')) mailbox.messages[0]!.isDraft = false
    }
    const { message, traces } = outgoing([partOf('a.pdf', 2_500_000)])
    const { given } = await graphSending(mailbox.connection()).send(message)
    expect(given.key).toBe('draft-0')
    expect(traces).toEqual([])
    expect(mailbox.messages).toHaveLength(1)
    expect(mailbox.calls).not.toContain('POST messages/draft-0/send')
  })

  test('leaves no draft if the caller refuses', async () => {
    const mailbox = new PlayedMailbox()
    const change = new Error('not now')
    const { message } = outgoing(null, { beforeHandOver: () => Promise.reject(change) })
    await expect(graphSending(mailbox.connection()).send(message)).rejects.toBe(change)
    expect(mailbox.messages).toEqual([])
  })

  test.each([
    [200, '', 'is unknown', { isBeforeAcceptance: false }],
    [500, '', 'is unknown', { isBeforeAcceptance: false }],
    [503, 'ErrorServerBusy', 'is unknown', { kind: 'throttled', isBeforeAcceptance: false }],
    [509, '', 'is unknown', { kind: 'throttled', isBeforeAcceptance: false }],
    [501, '', 'is unknown', { isBeforeAcceptance: false }],
    [429, '', 'is tried again', { kind: 'throttled', isBeforeAcceptance: true }],
    [404, '', 'is tried again', { kind: 'unavailable', isBeforeAcceptance: true }],
    [409, '', 'is tried again', { kind: 'unavailable', isBeforeAcceptance: true }],
  ])('answered %i %s %s', async (status, code, _, expected) => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/send', { status, code })
    const failure = await failureOf(graphSending(mailbox.connection()).send(outgoing().message))
    expect(failure).toMatchObject(expected)
    // The look-up needs the draft of an unknown outcome.
    expect(mailbox.messages).toHaveLength(expected.isBeforeAcceptance ? 0 : 1)
  })

  test('is refused for good by other answers', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/send', { status: 400, code: 'ErrorInvalidRecipients' })
    const { recipients } = await graphSending(mailbox.connection()).send(outgoing().message)
    expect(recipients[0]!.refusal).toMatchObject({ of: 'message', isPermanent: true, isTooLarge: false })
    expect(mailbox.messages).toEqual([])
  })

  test('waits if the mailbox may send no more in this minute, and prepares nothing', async () => {
    const mailbox = new PlayedMailbox()
    const pace = sendPaceOf('global eva', { take: () => Promise.resolve(39_500) })
    const beforePreparing = () => Promise.reject(new Error('prepared'))
    const sending = graphSending(mailbox.connection(), pace)
    const failure = await failureOf(sending.send(outgoing(null, { beforePreparing }).message))
    expect(failure).toMatchObject({
      kind: 'throttled',
      isBusy: true,
      isBeforeAcceptance: true,
      retryAfterSeconds: 40,
    })
    expect(mailbox.calls).toEqual([])
  })

  test('makes nothing until the caller has recorded that it may be prepared', async () => {
    const mailbox = new PlayedMailbox()
    const change = new Error('the claim is lost')
    const { message } = outgoing(null, {
      async beforePreparing() {
        expect(mailbox.calls).toEqual([])
        throw change
      },
    })
    await expect(graphSending(mailbox.connection()).send(message)).rejects.toBe(change)
    expect(mailbox.calls).toEqual([])
  })

  test('that is given up has its drafts discarded, and nothing that was sent', async () => {
    const mailbox = new PlayedMailbox()
    const one = { internetMessageId: ID, parentFolderId: 'drafts', attachments: [], isDraft: true }
    mailbox.messages.push(
      { ...one, id: 'draft' },
      { ...one, id: 'sent', isDraft: false, parentFolderId: 'sentitems' },
      { ...one, id: 'renamed', internetMessageId: '<renamed@example.com>' },
      { ...one, id: 'other', internetMessageId: '<other@example.com>' },
    )
    const { discard } = graphSending(mailbox.connection())
    mailbox.faults.set('permanentDelete', { status: 503 })
    const prepared = { internetMessageId: ID, trace: 'renamed' }
    expect(await failureOf(discard!(prepared))).toMatchObject({ kind: 'unavailable' })
    await discard!(prepared)
    expect(mailbox.messages.map(({ id }) => id)).toEqual(['sent', 'other'])
    // Once more after a process has died.
    await discard!(prepared)
  })
})

describe('the look-up of a send by Graph', () => {
  const handed = (mailbox: PlayedMailbox, secondsAgo: number, trace: string | null = 'draft-0') => ({
    internetMessageId: ID,
    outboxId: '01a1',
    trace,
    handedOverAt: new Date(mailbox.now - secondsAgo * 1_000),
  })
  const message = { id: 'draft-0', internetMessageId: ID, attachments: [] }

  test('reads from the draft whether it was sent', async () => {
    const mailbox = new PlayedMailbox()
    const { lookUp } = graphSending(mailbox.connection())
    mailbox.messages.push({ ...message, isDraft: true, parentFolderId: 'drafts' })
    expect(await lookUp(handed(mailbox, 60))).toEqual({ outcome: 'not_known' })
    expect(await lookUp(handed(mailbox, 300))).toEqual({ outcome: 'not_accepted' })
    Object.assign(mailbox.messages[0]!, { isDraft: false, parentFolderId: 'sentitems' })
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: 'draft-0' })
  })

  test('finds the copy under another id, and takes no absence for proof', async () => {
    const mailbox = new PlayedMailbox()
    const { lookUp } = graphSending(mailbox.connection())
    expect(await lookUp(handed(mailbox, 3_600))).toEqual({ outcome: 'not_known' })
    mailbox.messages.push({ ...message, id: 'copy', isDraft: false, parentFolderId: 'sentitems' })
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: 'copy' })
  })

  test('finds the copy by the field of its send if Exchange gave it another Message-ID', async () => {
    const mailbox = new PlayedMailbox()
    const { lookUp } = graphSending(mailbox.connection())
    const copy = { ...message, id: 'copy', internetMessageId: '<x@example.com>', isDraft: false }
    const field = (value: string) => ({ internetMessageHeaders: [{ name: 'X-Waxwing-Outbox', value }] })
    mailbox.messages.push(
      { ...copy, id: 'other', parentFolderId: 'sentitems', ...field('other') },
      { ...copy, parentFolderId: 'sentitems', ...field('01a1') },
    )
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: 'copy' })
  })

  test('finds the copy that Exchange filed in the mailbox of the delegate', async () => {
    const [mailbox, delegate] = [new PlayedMailbox(), new PlayedMailbox()]
    delegate.messages.push({ ...message, isDraft: false, parentFolderId: 'sentitems' })
    const { lookUp } = graphSending(mailbox.connection('global', delegate))
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: null })
  })
})
