import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { type Link, useConnect } from '../connect/open-connect.ts'
import { SOAK } from '../soak.ts'

const secret = () => new Secret('sandbox-secret')
const connect = useConnect(async () => ({
  config: {
    microsoftClientId: 'sandbox',
    microsoftClientSecret: secret(),
    microsoftChinaClientId: 'sandbox',
    microsoftChinaClientSecret: secret(),
  },
}))
const { person, link } = connect

let users = 0

/** Adds a user of an organization of its own. */
async function newUser(cloud: Cloud): Promise<string> {
  const domain = `firm${++users}.test`
  await connect.sandbox.addUser(`eva@${domain}`, { provider: 'microsoft', cloud, messages: 0 })
  return `eva@${domain}`
}

const linkIn = (cloud: Cloud) => link({ providers: ['microsoft'], microsoftCloud: cloud })

/** Opens a link, and continues to the provider. */
async function beginAt(page: Page, { url }: Link): Promise<void> {
  await page.goto(url)
  await page.getByRole('button', { name: 'Continue to Microsoft' }).click()
}

async function choose(page: Page, email: string): Promise<void> {
  await page.getByRole('button', { name: email }).click()
}

async function accept(page: Page, email: string): Promise<void> {
  await choose(page, email)
  await page.getByRole('button', { name: 'Accept' }).click()
}

const readAccount = async (id: string | undefined) =>
  (await connect.app.get<Account>(`/v1/accounts/${id}`)).body

describe('a person who signs in with Microsoft', () => {
  test('is shown the permissions, and comes back with the account', async () => {
    const email = await newUser('global')
    const eva = await person()
    await eva.page.goto((await linkIn('global')).url)
    expect(await eva.page.getByRole('listitem').allTextContents()).toEqual([
      'read, change and send your email',
      'see and change your calendars',
      'see your mailbox settings, such as your time zone',
      'see your name and email address',
    ])
    await eva.page.getByRole('button', { name: 'Continue to Microsoft' }).click()
    await accept(eva.page, email)
    const back = await connect.returned(eva.page)
    expect(back).toMatchObject({ status: 'success', state: 'a b&c' })
    expect(await readAccount(back['account_id'])).toMatchObject({ provider: 'graph', email, cloud: 'global' })
    expect(eva.complaints).toEqual([])
  })

  test('signs in to two clouds side by side in one browser, and both are connected', async () => {
    const eva = await person()
    const clouds = ['global', 'china'] as const
    const emails = await Promise.all(clouds.map(newUser))
    const pages = [eva.page, await eva.context.newPage()]
    for (const [index, cloud] of clouds.entries()) {
      const page = pages[index]
      if (page) await beginAt(page, await linkIn(cloud))
    }
    for (const [index, page] of pages.toReversed().entries())
      await accept(page, emails.toReversed()[index] ?? '')
    const accounts = await Promise.all(
      pages.map(async page => readAccount((await connect.returned(page))['account_id'])),
    )
    expect(accounts.map(({ cloud, email }) => [cloud, email])).toEqual(
      clouds.map((cloud, index) => [cloud, emails[index]]),
    )
  })

  test('and refuses comes back with that error', SOAK, async () => {
    const email = await newUser('china')
    const eva = await person()
    await beginAt(eva.page, await linkIn('china'))
    await choose(eva.page, email)
    await eva.page.getByRole('button', { name: 'Cancel' }).click()
    expect(await connect.returned(eva.page)).toMatchObject({ status: 'error', error: 'access_denied' })
  })

  test(
    'whose administrator must approve gets a link to pass on, which an administrator can use',
    SOAK,
    async () => {
      const admin = await newUser('global')
      const domain = admin.split('@')[1] ?? ''
      const email = `gus@${domain}`
      await connect.sandbox.addUser(email, { provider: 'microsoft', cloud: 'global', messages: 0 })
      await connect.sandbox.control('PATCH', '/tenants', { domain, approvalRequired: true })
      const gus = await person()
      const made = await linkIn('global')
      await beginAt(gus.page, made)
      await choose(gus.page, email)
      await gus.page.getByRole('button', { name: 'Return to the application' }).click()
      await gus.page.getByRole('heading', { name: 'Your administrator must approve this first' }).waitFor()
      const approval = (await gus.page.locator('main a').first().getAttribute('href')) ?? ''
      expect(await made.read()).toMatchObject({ status: 'failed', error: 'access_denied' })
      expect(gus.complaints).toEqual([])

      const boss = await person()
      await boss.page.goto(approval)
      await accept(boss.page, admin)
      await boss.page.getByRole('heading', { name: 'Thank you for the approval' }).waitFor()
      await gus.page.getByRole('link', { name: /^Go back to/ }).click()
      expect(await connect.returned(gus.page)).toMatchObject({ status: 'error', error: 'access_denied' })

      await beginAt(gus.page, await linkIn('global'))
      await choose(gus.page, email)
      expect(await connect.returned(gus.page)).toMatchObject({ status: 'success' })
    },
  )
})
