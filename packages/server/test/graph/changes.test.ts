import { describe, expect, test } from 'vitest'
import { letter } from '../../src/providers/conformance/arrangement.ts'
import { all, failureOf } from '../../src/providers/conformance/changing-steps.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import { useOffices } from './reach-writing.ts'

const openOffice = useOffices()
const at = (keys: readonly (string | number)[]) => ({ source: 'inbox', cursor: null, keys })

describe('changes of messages by Graph', () => {
  test('set and clear flags and categories singly, and keep what other clients set', async () => {
    await using office = await openOffice()
    const { changing } = office
    const id = await office.deliver(letter(1))
    await office.ask('PATCH', `messages/${id}`, { categories: ['Theirs'], flag: { flagStatus: 'flagged' } })
    const inbox = await office.folderId('inbox')
    const [added] = await all(
      changing.changeFlags(at([id]), { isRead: true, addCategories: ['Work', 'theirs', 'work'] }),
    )
    expect(added).toEqual({
      gone: [],
      changed: [
        {
          key: id,
          flags: { isRead: true, isFlagged: true, isDraft: false, categories: ['Theirs', 'Work'] },
          mailboxKeys: [inbox],
          revision: null,
        },
      ],
    })
    await all(changing.changeFlags(at([id]), { isFlagged: false, removeCategories: ['THEIRS'] }))
    const { data } = await office.ask('GET', `messages/${id}`)
    expect(data).toMatchObject({ isRead: true, categories: ['Work'], flag: { flagStatus: 'notFlagged' } })
  })

  test('lose no category that another client sets meanwhile', async () => {
    await using office = await openOffice()
    const id = await office.deliver(letter(1))
    await office.ask('PATCH', `messages/${id}`, { categories: ['One'] })
    const { askAll } = office.api
    let isDisturbed = false
    office.api.askAll = async (requests, options) => {
      const outcomes = await askAll.call(office.api, requests, options)
      if (!isDisturbed) await office.ask('PATCH', `messages/${id}`, { categories: ['One', 'Two'] })
      isDisturbed = true
      return outcomes as never
    }
    const steps = await all(office.changing.changeFlags(at([id]), { addCategories: ['Three'] }))
    expect(steps.flatMap(({ changed }) => changed).at(-1)?.flags.categories).toEqual(['One', 'Three', 'Two'])
    expect((await office.ask('GET', `messages/${id}`)).data.categories).toEqual(['One', 'Two', 'Three'])
  })

  test('change, move and remove sets, and name the ones that are gone', async () => {
    await using office = await openOffice()
    const { changing } = office
    const ids: string[] = []
    for (let number = 1; number <= 23; number++) ids.push(await office.deliver(letter(number)))
    const [gone] = ids.splice(7, 1)
    await office.ask('DELETE', `messages/${gone}`)
    await office.ask('DELETE', `messages/${gone}`)
    const keys = [...ids, gone!, 4_000_000]
    const flagged = await all(changing.changeFlags(at(keys), { isRead: true }))
    expect(flagged.flatMap(step => step.changed).map(({ key }) => key)).toEqual(ids)
    expect(flagged.flatMap(step => step.gone)).toEqual([gone, 4_000_000])

    const kept = (await changing.createMailbox({ parentKey: null, name: 'Kept', mayExist: false })).key
    const some = ids.slice(0, 21)
    const moved = await all(changing.move(at([...some, gone!]), kept))
    expect(moved.flatMap(step => step.moved)).toMatchObject(
      some.map(key => ({ key, location: { source: kept, key }, mailboxKeys: [kept] })),
    )
    expect(moved.flatMap(step => step.gone)).toEqual([gone])
    // Repeating it changes nothing.
    const again = await all(changing.move(at(some), kept))
    expect(again.flatMap(step => step.moved).map(({ key }) => key)).toEqual(some)
    expect((await office.list(kept)).map(({ id }) => id).toSorted()).toEqual(some.toSorted())

    const removed = await all(changing.remove(at([...some, gone!])))
    expect(removed.flatMap(step => step.removed)).toEqual(some)
    expect(removed.flatMap(step => step.gone)).toEqual([gone])
    for (const folder of [kept, 'deleteditems']) expect(await office.list(folder)).toEqual([])
    expect(await office.list('inbox')).toHaveLength(1)
  })

  test.each(['gcc-high', 'china'] as const)(
    'remove messages for good on %s, too, in one step',
    async cloud => {
      await using office = await openOffice(cloud)
      const id = await office.deliver(letter(1))
      await office.server.addFault({
        does: 'error',
        status: 400,
        host: CLOUDS[cloud].graph,
        method: 'DELETE',
      })
      const [step] = await all(office.changing.remove(at([id])))
      await office.server.clearFaults()
      expect(step).toEqual({ removed: [id], gone: [] })
      for (const folder of ['inbox', 'deleteditems']) expect(await office.list(folder)).toEqual([])
      expect((await office.ask('GET', 'messages')).data.value).toEqual([])
    },
  )

  test('are deleted twice in a mailbox that refuses to move messages to where deleted ones can be recovered', async () => {
    await using office = await openOffice('china')
    const ids = [await office.deliver(letter(1)), await office.deliver(letter(2))]
    await office.ask('DELETE', `messages/${ids[1]}`)
    await office.ask('DELETE', `messages/${ids[1]}`)
    for (const kind of ['forbidden', 'not_found'] as const) {
      office.api.askAll = async requests =>
        requests.map(() => ({ value: null, failure: new ProviderFailure(kind, 'No such folder') }))
      const [step] = await all(office.changing.remove(at(ids)))
      expect(step).toEqual(
        kind === 'forbidden' ? { removed: [ids[0]], gone: [ids[1]] } : { removed: [], gone: ids },
      )
      for (const folder of ['inbox', 'deleteditems']) expect(await office.list(folder)).toEqual([])
    }
  })

  test('move nothing to a folder that is gone', async () => {
    await using office = await openOffice()
    const id = await office.deliver(letter(1))
    const { key } = await office.changing.createMailbox({ parentKey: null, name: 'Gone', mayExist: false })
    await office.changing.deleteMailbox(key)
    expect(await failureOf(all(office.changing.move(at([id]), key)))).toMatchObject({
      kind: 'not_found',
      isBeforeAcceptance: true,
    })
    expect(await office.list('inbox')).toHaveLength(1)
  })

  test('find messages by their exact Message-ID, with fields of their header', async () => {
    await using office = await openOffice()
    const raw = (id: string) =>
      `From: a@example.com\r\nMessage-ID: <${id}>\r\nX-One: folded\r\n here\r\n\r\nText\r\n`
    const first = await office.deliver(raw("it's@example.com"))
    await office.deliver(raw('other@example.com'))
    const inbox = await office.folderId('inbox')
    const found = await office.changing.find(inbox, "<it's@example.com>", ['x-one', 'X-Two'])
    expect(found.map(({ location, fields }) => [location.key, [...fields]])).toEqual([
      [first, [['x-one', 'folded here']]],
    ])
    expect(await office.changing.find(inbox, '<none@example.com>')).toEqual([])
  })
})

describe('changes of folders by Graph', () => {
  test('create, rename, move and delete', async () => {
    await using office = await openOffice()
    const { changing } = office
    const create = (name: string, parentKey: string | null = null, mayExist = false) =>
      changing.createMailbox({ parentKey, name, mayExist })
    const parent = await create('Grüße & more')
    const child = await create('日本語', parent.key)
    expect(child).toMatchObject({
      path: 'Grüße & more/日本語',
      parentKey: parent.key,
      role: 'custom',
      totalCount: 0,
    })
    expect(await failureOf(create('日本語', parent.key))).toMatchObject({
      kind: 'conflict',
      isBeforeAcceptance: true,
    })
    expect((await create('日本語', parent.key, true)).key).toBe(child.key)
    expect(await failureOf(create('x'.repeat(5_000)))).toMatchObject({ kind: 'rejected' })
    const gone = await create('Gone')
    await changing.deleteMailbox(gone.key)
    expect(await failureOf(create('x', gone.key))).toMatchObject({
      kind: 'not_found',
      isBeforeAcceptance: true,
    })
    const elsewhere = await create('Elsewhere')
    const renamed = await changing.renameMailbox(parent.key, { name: 'Größer', parentKey: elsewhere.key })
    expect(renamed.map(({ formerKey, mailbox }) => [formerKey, mailbox.key, mailbox.path])).toEqual([
      [parent.key, parent.key, 'Elsewhere/Größer'],
      [child.key, child.key, 'Elsewhere/Größer/日本語'],
    ])
    expect(await failureOf(changing.deleteMailbox(parent.key))).toMatchObject({ kind: 'rejected' })
    expect(await changing.deleteMailbox(child.key)).toEqual([])
    expect(await changing.deleteMailbox(parent.key)).toEqual([])
    for (const { key } of [parent, child])
      expect((await office.ask('GET', `mailFolders/${key}`)).status).toBe(404)
    const back = await changing.renameMailbox(elsewhere.key, { parentKey: null, name: 'Back' })
    expect(back).toMatchObject([{ mailbox: { path: 'Back', parentKey: null } }])
  })

  test('find the folders of roles', async () => {
    await using office = await openOffice()
    for (const [role, name] of [
      ['trash', 'deleteditems'],
      ['sent', 'sentitems'],
      ['drafts', 'drafts'],
    ] as const)
      expect(await office.changing.requireMailbox(role)).toMatchObject({
        isNew: false,
        mailbox: { role, key: await office.folderId(name) },
      })
  })
})
