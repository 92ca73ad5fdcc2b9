import { describe, expect, test } from 'vitest'
import type { RemoteMailbox } from '../mail.ts'
import { type ChangingArrangement, letters } from './arrangement.ts'
import { failureOf, keyOf } from './changing-steps.ts'

/** Contract of `ChangingProvider` for mailboxes. */
export function describeChangedMailboxes(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: changed mailboxes`, () => {
    test('are created as the list then has them, and subscribed to', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      const { changing, mail } = account

      const names = ['Projects', 'Grüße & more', '日本語', "it's 100", 'a b~c', '😀']
      const created: RemoteMailbox[] = []
      for (const mailbox of names)
        created.push(await changing.createMailbox({ parentKey: null, name: mailbox, mayExist: false }))
      const [parent] = created
      created.push(await changing.createMailbox({ parentKey: parent!.key, name: 'Täglich', mayExist: false }))

      expect(created.map(mailbox => mailbox.name)).toEqual([...names, 'Täglich'])
      expect(created.at(-1)).toMatchObject({
        parentKey: parent?.key,
        path: `${parent?.path}/Täglich`,
        role: 'custom',
        totalCount: 0,
      })
      const listed = new Map((await mail.listMailboxes()).map(mailbox => [mailbox.key, mailbox]))
      for (const { state: _, ...mailbox } of created) expect(listed.get(mailbox.key)).toMatchObject(mailbox)
      expect(await arranged.subscribed()).toEqual(expect.arrayContaining(created.map(({ path }) => path)))
    })

    test('are created once, unless an earlier try may have', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      const { changing } = account
      const create = (mayExist: boolean, mailbox = 'Projects') =>
        changing.createMailbox({ parentKey: null, name: mailbox, mayExist })

      const first = await create(false)
      expect(await failureOf(create(false))).toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
      expect((await create(true)).key).toBe(first.key)
      expect(await failureOf(create(false, 'inbox'))).toMatchObject({ kind: 'conflict' })
      const parentKey = arranged.unknownMailbox
      const orphan = changing.createMailbox({ parentKey, name: 'x', mayExist: false })
      expect(await failureOf(orphan)).toMatchObject({ kind: 'not_found', isBeforeAcceptance: true })
      expect(await failureOf(create(false, 'x'.repeat(5000)))).toMatchObject({ kind: 'rejected' })
    })

    test('are renamed and moved with the mailboxes below them, their messages and subscriptions', async () => {
      await using arranged = await setUp()
      for (const mailbox of ['Old', 'Old/Below', 'Old/Below/Deep', 'Older', 'Elsewhere'])
        await arranged.world.createMailbox(mailbox)
      await arranged.world.deliver(letters(2), 'Old/Below')
      await using account = await arranged.connect()
      const { changing, mail } = account
      const [old, elsewhere] = [await keyOf(arranged, mail, 'Old'), await keyOf(arranged, mail, 'Elsewhere')]
      const path = (mailbox: string) => arranged.world.listedAs(mailbox)

      const renamed = await changing.renameMailbox(old, { name: 'Größer', parentKey: elsewhere })

      expect(renamed.map(({ mailbox }) => mailbox.path)).toEqual(
        ['Elsewhere/Größer', 'Elsewhere/Größer/Below', 'Elsewhere/Größer/Below/Deep'].map(path),
      )
      expect(renamed[0]?.formerKey).toBe(old)
      const listed = (await mail.listMailboxes()).map(mailbox => mailbox.path)
      expect(listed).toEqual(expect.arrayContaining(renamed.map(({ mailbox }) => mailbox.path)))
      expect(listed).toContain(path('Older'))
      expect(listed).not.toContain(path('Old'))
      expect(await arranged.held('Elsewhere/Größer/Below')).toHaveLength(2)
      const subscribed = await arranged.subscribed()
      expect(subscribed).toEqual(expect.arrayContaining(renamed.map(({ mailbox }) => mailbox.path)))
      expect(subscribed).not.toContain(path('Old'))
      expect(subscribed).not.toContain(path('Old/Below'))

      const below = renamed[1]!.mailbox.key
      const same = await changing.renameMailbox(below, { name: 'Below' })
      expect(same).toEqual([])
      const deeper = changing.renameMailbox(renamed[0]!.mailbox.key, { parentKey: below })
      expect(await failureOf(deeper)).toMatchObject({ kind: 'rejected', isBeforeAcceptance: true })
      const taken = changing.renameMailbox(elsewhere, { name: 'Older' })
      expect(await failureOf(taken)).toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
      const gone = renamed[0]!.mailbox.key === old ? arranged.unknownMailbox : old
      expect(await failureOf(changing.renameMailbox(gone, { name: 'x' }))).toMatchObject({
        kind: 'not_found',
      })
    })

    test('are deleted, unless there are others below them', async () => {
      await using arranged = await setUp()
      for (const mailbox of ['Doomed', 'Doomed/Below']) await arranged.world.createMailbox(mailbox)
      await arranged.world.deliver(letters(2), 'Doomed')
      await using account = await arranged.connect()
      const { changing, mail } = account
      const [doomed, below] = [
        await keyOf(arranged, mail, 'Doomed'),
        await keyOf(arranged, mail, 'Doomed/Below'),
      ]

      expect(await failureOf(changing.deleteMailbox(doomed))).toMatchObject({
        kind: 'rejected',
        isBeforeAcceptance: true,
      })
      await changing.deleteMailbox(below)
      await changing.deleteMailbox(doomed)

      expect((await mail.listMailboxes()).map(({ key }) => key)).not.toContain(doomed)
      expect(await arranged.subscribed()).not.toContain(arranged.world.listedAs('Doomed'))
      expect(await failureOf(changing.deleteMailbox(doomed))).toMatchObject({ kind: 'not_found' })
    })

    test('are made for a role when they are first needed', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      const { changing, mail } = account
      for (const role of ['trash', 'sent', 'drafts'] as const) {
        const before = (await mail.listMailboxes()).filter(mailbox => mailbox.role === role)
        const first = await changing.requireMailbox(role)
        expect(first.isNew).toBe(before.length === 0)
        expect(first.mailbox.role).toBe(role)
        const again = await changing.requireMailbox(role)
        expect(again).toMatchObject({ isNew: false, mailbox: { key: first.mailbox.key } })
        const after = (await mail.listMailboxes()).filter(mailbox => mailbox.role === role)
        expect(after.map(({ key }) => key)).toEqual([first.mailbox.key])
      }
    })
  })
}
