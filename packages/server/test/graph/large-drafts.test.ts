import { describe, expect, test } from 'vitest'
import { failureOf } from '../../src/providers/conformance/changing-steps.ts'
import type { OutgoingPart } from '../../src/providers/sending.ts'
import { draftOf, ID, MIB, partOf, subjectsOf, UNKNOWN } from './our-drafts.ts'
import { type Office, useOffices } from './reach-writing.ts'

const openOffice = useOffices()

/** A file that ends too early. */
const BROKEN: OutgoingPart = { ...partOf(5 * MIB), async *open() {} }

/** Adds a draft whose file cannot be attached, and which cannot be removed then. @returns its key */
async function leaveIncomplete(office: Office, folder: string, generation: number): Promise<string> {
  const before = new Set((await office.list('drafts')).map(({ id }) => id))
  await office.server.addFault({ does: 'error', status: 400, path: '*/permanentDelete', count: 1 })
  const adding = office.changing.addDraft(draftOf(folder, generation, [BROKEN]), false)
  expect(await failureOf(adding)).toMatchObject({ kind: 'rejected' })
  return (await office.list('drafts')).find(({ id }) => !before.has(id)).id
}

describe('drafts with large files by Graph', () => {
  test('have their files attached, and are not left without them', async () => {
    await using office = await openOffice()
    const folder = await office.folderId('drafts')
    const part = partOf(5 * MIB)
    const added = await office.changing.addDraft(draftOf(folder, 1, [part]), false)
    const { data } = await office.ask('GET', `messages/${added.location!.key}/attachments`)
    expect(data.value).toMatchObject([{ name: 'l.pdf', contentType: 'application/pdf' }])
    expect(added.message?.hasAttachments).toBe(true)
    const adding = office.changing.addDraft(draftOf(folder, 2, [BROKEN]), false)
    expect(await failureOf(adding)).toMatchObject({ kind: 'rejected' })
    expect(await subjectsOf(office)).toEqual(['Draft 1'])
    // An earlier try has completed it.
    const again = await office.changing.addDraft(draftOf(folder, 1, [part]), true)
    expect(again.location!.key).toBe(added.location!.key)
    expect(await subjectsOf(office)).toEqual(['Draft 1'])
  })

  test('are made again if an earlier try left them without their files, and stay until then', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    const left = await leaveIncomplete(office, folder, 1)
    expect(await failureOf(changing.addDraft(draftOf(folder, 1, [BROKEN]), true))).toMatchObject({
      kind: 'rejected',
      isBeforeAcceptance: false,
    })
    expect((await office.list('drafts')).map(({ id }) => id)).toEqual([left])
    const again = await changing.addDraft(draftOf(folder, 1, [partOf(5 * MIB)]), true)
    expect(again.location!.key).not.toBe(left)
    expect(again.message).toMatchObject({ hasAttachments: true })
    expect(again.message!.isIncomplete).toBeUndefined()
    expect(await subjectsOf(office)).toEqual(['Draft 1'])
  })

  test('are not removed for a later content without its files, which is discarded', async () => {
    await using office = await openOffice()
    const { changing } = office
    const folder = await office.folderId('drafts')
    const added = await changing.addDraft(draftOf(folder, 1), false)
    const { key } = added.location!
    const former = { source: folder, cursor: null, key }
    const left = await leaveIncomplete(office, folder, 2)
    expect(await changing.readDraft!(left)).toMatchObject({ isIncomplete: true })
    const named = { mailboxKey: folder, internetMessageId: ID, draftId: 'd1', copies: [] }
    const settled = await changing.settleDraft(named)
    expect(settled).toMatchObject({ kept: { generation: 1, location: { key } }, removed: [left] })
    await leaveIncomplete(office, folder, 3)
    const content = draftOf(folder, 4, [partOf(3 * MIB)])
    const outcome = await changing.replaceDraft({ ...content, ...UNKNOWN, former })
    expect(outcome).toMatchObject({ type: 'replaced', isSettled: true })
    expect(await subjectsOf(office)).toEqual(['Draft 4'])
    expect(await changing.settleDraft(named)).toMatchObject({ kept: { generation: 4 }, removed: [] })
  })

  test('are left without their files if another client has changed them since, or if they are all that there is', async () => {
    await using office = await openOffice()
    const { changing, server } = office
    const folder = await office.folderId('drafts')
    const named = { mailboxKey: folder, internetMessageId: ID, draftId: 'd1', copies: [] }
    const left = await leaveIncomplete(office, folder, 2)
    expect(await changing.settleDraft(named)).toEqual({ kept: null, removed: [] })
    await changing.addDraft(draftOf(folder, 1), false)
    await server.turnClock(302)
    await office.ask('PATCH', `messages/${left}`, { subject: 'Theirs' })
    expect(await changing.settleDraft(named)).toMatchObject({ kept: { generation: 1 }, removed: [] })
    expect((await subjectsOf(office)).toSorted()).toEqual(['Draft 1', 'Theirs'])
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
})
