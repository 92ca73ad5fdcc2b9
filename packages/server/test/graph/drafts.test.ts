import { describe, expect, test } from 'vitest'
import { DRAFT_FIELD, draftMark } from '../../src/providers/draft-mark.ts'
import type { DraftReplacement, NewDraft } from '../../src/providers/changing.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { failureOf } from '../../src/providers/conformance/changing-steps.ts'
import type { OutgoingPart } from '../../src/providers/sending.ts'
import { askPython } from '../bodies/ask-python.ts'
import { type Office, useOffices } from './reach-writing.ts'

const openOffice = useOffices()
const MIB = 1024 * 1024
const ID = '<draft@example.com>'

function draftOf(mailboxKey: string, generation: number, parts: readonly OutgoingPart[] = []): NewDraft {
  const mark = { draftId: 'd1', generation }
  const raw =
    `Bcc: hidden@example.com\r\nFrom: eva@office.test\r\nTo: bob@example.com\r\nSubject: Draft ${generation}\r\n` +
    `Message-ID: ${ID}\r\nReferences: <first@example.net>\r\n${DRAFT_FIELD}: ${draftMark(mark)}\r\n\r\nText ${generation}\r\n`
  const open = async function* () {
    yield Buffer.from(raw)
  }
  return {
    mailboxKey,
    mark,
    message: {
      internetMessageId: ID,
      byteLength: raw.length + parts.reduce((bytes, part) => bytes + part.byteLength, 0),
      open,
      split: async () => ({
        rest: { byteLength: raw.length, open },
        parts,
        [Symbol.asyncDispose]: async () => {},
      }),
      flags: { isRead: true, isFlagged: false, isDraft: true, categories: [] },
      receivedAt: null,
      threadId: null,
    },
  }
}

function partOf(byteLength: number): OutgoingPart {
  return {
    filename: 'l.pdf',
    contentType: 'application/pdf',
    contentId: null,
    isInline: false,
    byteLength,
    async *open() {
      yield Buffer.alloc(byteLength, 'x')
    },
  }
}

const UNKNOWN: Pick<DraftReplacement, 'former' | 'draftKey' | 'others' | 'copies'> = {
  former: null,
  draftKey: null,
  others: [],
  copies: [],
}

const subjectsOf = async (office: Office) => (await office.list('drafts')).map(({ subject }) => subject)

describe('drafts by Graph', () => {
  test('are added once, however often it is tried, with every field of their header', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const again = await changing.addDraft(draftOf(folder, 1), true)
    expect(again.location?.key).toBe(added.location?.key)
    expect(added).toMatchObject({ mailboxKeys: [folder], draftKey: null })
    expect(added.message).toMatchObject({
      subject: 'Draft 1',
      internetMessageId: ID,
      isDraft: true,
      draftMark: { draftId: 'd1', generation: 1 },
      bcc: [{ address: 'hidden@example.com' }],
      references: ['<first@example.net>'],
    })
    const [held] = await office.list('drafts')
    const [read] = askPython([Buffer.from(await office.mime(held.id))])
    expect(read!.fields).toEqual(expect.arrayContaining([[DRAFT_FIELD, 'd1 generation=1']]))
    const former = { source: folder, cursor: null, key: held.id }
    const found = await changing.findDraft(
      { mailboxKey: folder, former, draftKey: null, internetMessageId: ID },
      [DRAFT_FIELD, 'References'],
    )
    expect(found.map(({ location, fields }) => [location.key, fields.get(DRAFT_FIELD)])).toEqual([
      [held.id, 'd1 generation=1'],
    ])
  })

  test('are replaced by another message, and leave those of other clients', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    await office.ask('POST', 'messages', { subject: 'Theirs' })
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const former = { source: folder, cursor: null, key: added.location!.key }
    for (let times = 0; times < 2; times++) {
      const outcome = await changing.replaceDraft({ ...draftOf(folder, 2), ...UNKNOWN, former })
      expect(outcome).toMatchObject({ type: 'replaced', isSettled: true })
      expect((await subjectsOf(office)).toSorted()).toEqual(['Draft 2', 'Theirs'])
    }
    const stale = changing.replaceDraft({ ...draftOf(folder, 1), ...UNKNOWN })
    expect(await failureOf(stale)).toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
    await changing.removeDraft({
      mailboxKey: folder,
      former: {
        ...former,
        key: (await office.list('drafts')).find(({ subject }) => subject === 'Draft 2').id,
      },
      draftKey: null,
      internetMessageId: ID,
      others: [],
    })
    expect(await subjectsOf(office)).toEqual(['Theirs'])
    expect(await office.list('deleteditems')).toEqual([])
  })

  test('keep the highest of the generations that an interruption left, and copies', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    const keys: string[] = []
    for (const generation of [3, 4, 2])
      keys.push(String((await changing.addDraft(draftOf(folder, generation), false)).location!.key))
    const named = { mailboxKey: folder, internetMessageId: ID, draftId: 'd1' }
    const copies = [{ source: folder, cursor: null, key: keys[2]! }]
    const settled = await changing.settleDraft({ ...named, copies })
    expect(settled).toMatchObject({ kept: { generation: 4, location: { key: keys[1] } }, removed: [keys[0]] })
    expect((await subjectsOf(office)).toSorted()).toEqual(['Draft 2', 'Draft 4'])
    expect(await changing.settleDraft({ ...named, draftId: 'other', copies: [] })).toEqual({
      kept: null,
      removed: [],
    })
  })

  test('are not replaced if another client changes them while the new content is written', async () => {
    await using office = await openOffice()
    const { changing, api } = office
    const folder = await office.folderId('drafts')
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const key = String(added.location!.key)
    const { revision } = added.message!.content!
    const { ask } = api
    let edits = 0
    api.ask = async (request, options) => {
      const answer = await ask.call(api, request, options)
      const isMade = request.method === 'POST' && request.path.endsWith('/messages')
      if (isMade && edits++ === 0) await office.ask('PATCH', `messages/${key}`, { subject: 'Theirs' })
      return answer as never
    }
    const former = { source: folder, cursor: null, key, revision }
    const replacing = (known: typeof former) =>
      changing.replaceDraft({ ...draftOf(folder, 2), ...UNKNOWN, former: known })
    expect(await failureOf(replacing(former))).toMatchObject({ kind: 'conflict' })
    expect(edits).toBe(1)
    expect(await subjectsOf(office)).toEqual(['Theirs'])
    // Nothing is written if that shows before.
    expect(await failureOf(replacing(former))).toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
    expect(edits).toBe(1)
    const read = await changing.readDraft!(key)
    expect(read).toMatchObject({ subject: 'Theirs', isDraft: true })
    expect(read!.content!.digest).not.toBe(added.message!.content!.digest)
    expect(await replacing({ ...former, revision: read!.content!.revision })).toMatchObject({
      type: 'replaced',
      isSettled: true,
    })
    expect(await subjectsOf(office)).toEqual(['Draft 2'])
  })

  test('are settled later if Exchange does not find the former one yet', async () => {
    await using office = await openOffice()
    const { changing, api } = office
    const folder = await office.folderId('drafts')
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const key = String(added.location!.key)
    const { ask } = api
    let isHidden = true
    api.ask = async (request, options) => {
      if (isHidden && request.path === `messages/${encodeURIComponent(key)}`)
        throw new ProviderFailure('not_found', 'Not yet')
      return (await ask.call(api, request, options)) as never
    }
    const former = { source: folder, cursor: null, key }
    const outcome = await changing.replaceDraft({ ...draftOf(folder, 2), ...UNKNOWN, former })
    expect(outcome).toMatchObject({ type: 'replaced', isSettled: false })
    const settle = () =>
      changing.settleDraft({ mailboxKey: folder, internetMessageId: ID, draftId: 'd1', copies: [] })
    expect(await failureOf(settle())).toMatchObject({ kind: 'unavailable' })
    isHidden = false
    expect(await settle()).toMatchObject({ kept: { generation: 2 }, removed: [key] })
    expect(await subjectsOf(office)).toEqual(['Draft 2'])
  })

  test('are not removed if another client has changed, moved or sent them', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    const edited = await changing.addDraft(draftOf(folder, 1), false)
    const remove = (key: string, revision: string | null) =>
      changing.removeDraft({
        mailboxKey: folder,
        former: { source: folder, cursor: null, key, revision },
        draftKey: null,
        internetMessageId: ID,
        others: [],
      })
    const key = String(edited.location!.key)
    const { revision } = edited.message!.content!
    await office.ask('PATCH', `messages/${key}`, { body: { contentType: 'text', content: 'Other' } })
    expect(await failureOf(remove(key, revision))).toMatchObject({
      kind: 'conflict',
      isBeforeAcceptance: true,
    })
    await office.ask('POST', `messages/${key}/move`, { destinationId: 'archive' })
    expect(await failureOf(remove(key, revision))).toMatchObject({
      kind: 'not_found',
      isBeforeAcceptance: true,
    })
    expect(await office.list('archive')).toHaveLength(1)
    const { data } = await office.ask('POST', 'messages', {
      subject: 'Sent',
      toRecipients: [{ emailAddress: { address: 'bob@example.com' } }],
    })
    await office.ask('POST', `messages/${data.id}/send`)
    expect(await failureOf(remove(data.id, null))).toMatchObject({ kind: 'not_found' })
    expect(await office.list('sentitems')).toHaveLength(1)
  })

  test('keep an earlier content that another client changed after a later one was made', async () => {
    await using office = await openOffice()
    const { changing, server } = office
    const folder = await office.folderId('drafts')
    const keys: string[] = []
    for (const generation of [1, 2, 3])
      keys.push(String((await changing.addDraft(draftOf(folder, generation), false)).location!.key))
    // Exchange notes whole seconds.
    await server.turnClock(2)
    await office.ask('PATCH', `messages/${keys[1]}`, { subject: 'Theirs' })
    const settled = await changing.settleDraft({
      mailboxKey: folder,
      internetMessageId: ID,
      draftId: 'd1',
      copies: [],
    })
    expect(settled).toMatchObject({ kept: { generation: 3 }, removed: [keys[0]] })
    expect((await subjectsOf(office)).toSorted()).toEqual(['Draft 3', 'Theirs'])
  })

  test('are replaced without an earlier content that another client changed after a later one was made', async () => {
    await using office = await openOffice()
    const { changing, server } = office
    const folder = await office.folderId('drafts')
    const keys: string[] = []
    for (const generation of [1, 2, 3])
      keys.push(String((await changing.addDraft(draftOf(folder, generation), false)).location!.key))
    await server.turnClock(2)
    await office.ask('PATCH', `messages/${keys[1]}`, { subject: 'Theirs' })
    const former = { source: folder, cursor: null, key: keys[2]! }
    const outcome = await changing.replaceDraft({ ...draftOf(folder, 4), ...UNKNOWN, former })
    expect(outcome).toMatchObject({ type: 'replaced', isSettled: true })
    expect((await subjectsOf(office)).toSorted()).toEqual(['Draft 4', 'Theirs'])
  })

  test('have large files attached, and are not left without them', async () => {
    await using office = await openOffice()
    const folder = await office.folderId('drafts')
    const part = partOf(5 * MIB)
    const added = await office.changing.addDraft(draftOf(folder, 1, [part]), false)
    const { data } = await office.ask('GET', `messages/${added.location!.key}/attachments`)
    expect(data.value).toMatchObject([{ name: 'l.pdf', contentType: 'application/pdf' }])
    expect(added.message?.hasAttachments).toBe(true)
    const broken = { ...part, async *open() {} }
    const adding = office.changing.addDraft(draftOf(folder, 2, [broken]), false)
    expect(await failureOf(adding)).toMatchObject({ kind: 'rejected' })
    expect(await subjectsOf(office)).toEqual(['Draft 1'])
    // The draft of an earlier try stays until the next one has made it again.
    expect(await failureOf(office.changing.addDraft(draftOf(folder, 1, [broken]), true))).toMatchObject({
      kind: 'rejected',
      isBeforeAcceptance: false,
    })
    expect((await office.list('drafts')).map(({ id }) => id)).toEqual([added.location!.key])
    // An earlier try may have left it without its files.
    const again = await office.changing.addDraft(draftOf(folder, 1, [part]), true)
    expect(again.location!.key).not.toBe(added.location!.key)
    expect(await subjectsOf(office)).toEqual(['Draft 1'])
  })

  test('are reported as made if they cannot be removed without their files', async () => {
    await using office = await openOffice()
    const folder = await office.folderId('drafts')
    await office.server.addFault({ does: 'error', status: 404, path: '*/createUploadSession', count: 1 })
    await office.server.addFault({ does: 'rate_limit', path: '*/permanentDelete', count: 1 })
    const adding = office.changing.addDraft(draftOf(folder, 1, [partOf(5 * MIB)]), false)
    expect(await failureOf(adding)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    expect(await subjectsOf(office)).toEqual(['Draft 1'])
  })

  test('are not made of other messages', async () => {
    await using office = await openOffice()
    const { message } = draftOf('', 1)
    const folder = await office.folderId('sentitems')
    const adding = office.changing.addMessage(folder, {
      ...message,
      flags: { ...message.flags, isDraft: false },
    })
    expect(await failureOf(adding)).toMatchObject({ kind: 'unsupported', isBeforeAcceptance: true })
  })
})
