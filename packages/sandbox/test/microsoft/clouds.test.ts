import { expect, test } from 'vitest'
import { CLOUD_NAMES, CLOUDS } from '../../src/microsoft/clouds.ts'
import { useGraph } from './use-graph.ts'

const graph = useGraph()

/** Calls that some clouds lack, and the ability behind each. */
const CALLS = [
  ['messageDelta', 'GET', 'mailFolders/inbox/messages/delta'],
  ['folderDelta', 'GET', 'mailFolders/delta'],
  ['contactDelta', 'GET', 'contacts/delta'],
  ['masterCategories', 'GET', 'outlook/masterCategories'],
  ['permanentDelete', 'POST', 'mailFolders/{folder}/permanentDelete'],
] as const

test.each(CLOUD_NAMES)('has what %s has, and no more', async name => {
  const user = graph.addUser(`eva@${name}.test`, 5, name)
  for (const [ability, method, path] of CALLS) {
    const made = await graph.ask(user, 'POST', 'mailFolders', { displayName: ability })
    const { status, data } = await graph.ask(user, method, path.replace('{folder}', made.data.id))
    if (CLOUDS[name].has[ability]) expect(status, ability).toBeLessThan(300)
    else
      expect([status, data.error.message]).toEqual([
        400,
        `Resource not found for the segment '${path.split('/').at(-1)}'.`,
      ])
  }
})

test.each(CLOUD_NAMES)('gives links of the host of %s', async name => {
  const user = graph.addUser(`eva@${name}.test`, 30, name)
  const { data } = await graph.ask(user, 'GET', 'messages?$top=2&$search="a"')
  const host = `https://${CLOUDS[name].graphHost}/v1.0/`
  expect(data['@odata.nextLink'].startsWith(host)).toBe(true)
  expect(data['@odata.context'].startsWith(host)).toBe(true)
})
