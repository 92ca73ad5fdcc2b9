import { describe, expect, test } from 'vitest'
import { DRAFT_FIELD } from '../../src/providers/draft-mark.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { failureOf } from '../../src/providers/conformance/changing-steps.ts'
import { askPython } from '../bodies/ask-python.ts'
import { draftOf, ID, subjectsOf, UNKNOWN } from './our-drafts.ts'
import { useOffices } from './reach-writing.ts'

const openOffice = useOffices()
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

  test('are found wherever they were moved to since an earlier try added them', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    const trash = await office.folderId('deleteditems')
    const { key } = (await changing.addDraft(draftOf(folder, 1), false)).location!
    await office.ask('POST', `messages/${key}/move`, { destinationId: trash })
    const again = await changing.addDraft(draftOf(folder, 1), true)
    expect(again).toMatchObject({ location: { source: trash, key }, mailboxKeys: [trash] })
    expect(await subjectsOf(office)).toEqual([])
  })

  test('lose former contents in their folder, also if they were moved since, and no copies elsewhere', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    const trash = await office.folderId('deleteditems')
    const [first, second] = [
      await changing.addDraft(draftOf(folder, 1), false),
      await changing.addDraft(draftOf(folder, 2), false),
    ]
    const copied = await office.ask('POST', `messages/${first.location!.key}/copy`, {
      destinationId: 'archive',
    })
    await office.ask('POST', `messages/${second.location!.key}/move`, { destinationId: trash })
    const named = { mailboxKey: folder, internetMessageId: ID, draftId: 'd1', copies: [] }
    expect(await changing.settleDraft(named)).toMatchObject({
      kept: { generation: 2, location: { source: trash, key: second.location!.key } },
      removed: [first.location!.key],
      left: [{ source: await office.folderId('archive'), key: copied.data.id }],
    })
    expect(await subjectsOf(office)).toEqual([])
  })

  test('that can only be recovered were deleted', async () => {
    await using office = await openOffice('china')
    const { changing } = office
    const folder = await office.folderId('drafts')
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const former = { source: folder, cursor: null, key: added.location!.key }
    const known = { mailboxKey: folder, former, draftKey: null, internetMessageId: ID, others: [] }
    await changing.removeDraft(known)
    await changing.removeDraft(known)
    const outcome = await changing.replaceDraft({ ...draftOf(folder, 2), ...UNKNOWN, former })
    expect(outcome).toMatchObject({ type: 'replaced', isSettled: true })
    expect(await subjectsOf(office)).toEqual(['Draft 2'])
    expect(await office.list('deleteditems')).toEqual([])
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

  test('are replaced if Exchange does not find the new one at first', async () => {
    await using office = await openOffice()
    const { changing, api } = office
    const folder = await office.folderId('drafts')
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const { key } = added.location!
    const former = { source: folder, cursor: null, key, revision: added.message!.content!.revision }
    const { ask } = api
    let unfound = 0
    api.ask = async (request, options) => {
      const isNew = request.method === undefined && /^messages\/[^/]+$/.test(request.path)
      if (isNew && !request.path.endsWith(encodeURIComponent(String(key))) && unfound++ < 2)
        throw new ProviderFailure('not_found', 'Not yet')
      return (await ask.call(api, request, options)) as never
    }
    const outcome = await changing.replaceDraft({ ...draftOf(folder, 2), ...UNKNOWN, former })
    expect(outcome).toMatchObject({
      type: 'replaced',
      added: { message: { subject: 'Draft 2' } },
      isSettled: true,
    })
    expect(unfound).toBeGreaterThan(2)
    expect(await subjectsOf(office)).toEqual(['Draft 2'])
  })

  test('are not taken for gone or lost if Exchange does not find them yet', async () => {
    await using office = await openOffice()
    const { changing, api } = office
    const folder = await office.folderId('drafts')
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const { key } = added.location!
    const former = { source: folder, cursor: null, key, revision: added.message!.content!.revision }
    const { ask } = api
    api.ask = async (request, options) => {
      if (request.method === undefined && /^messages\/[^/]+$/.test(request.path))
        throw new ProviderFailure('not_found', 'Not yet')
      return (await ask.call(api, request, options)) as never
    }
    const known = { mailboxKey: folder, draftKey: null, internetMessageId: ID, former }
    expect(await failureOf(changing.removeDraft({ ...known, others: [] }))).toMatchObject({
      kind: 'unavailable',
    })
    const replacing = changing.replaceDraft({ ...draftOf(folder, 2), ...UNKNOWN, former })
    expect(await failureOf(replacing)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    api.ask = ask
    expect((await subjectsOf(office)).toSorted()).toEqual(['Draft 1', 'Draft 2'])
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
