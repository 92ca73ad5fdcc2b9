import type { Page } from 'playwright-core'
import type { Link } from './open-connect.ts'

export interface AtProvider {
  /** The boxes to untick. */
  untick?: readonly RegExp[]
  deny?: boolean
}

/** Presses Continue on the page of the service. */
export async function pressContinue(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Continue to Google' }).click()
}

/** Opens a link whose only choice is Google, and continues to the provider. */
export async function beginAt(page: Page, link: Link): Promise<Link> {
  await page.goto(link.url)
  await pressContinue(page)
  return link
}

/** Signs in at the sandbox, whose page of choice is shown, and answers the page of consent. */
export async function signIn(page: Page, email: string, answer: AtProvider = {}): Promise<void> {
  await page.getByRole('button', { name: email }).click()
  await consent(page, answer)
}

/** Answers the page on which the sandbox asks for consent. */
export async function consent(page: Page, { untick = [], deny = false }: AtProvider = {}): Promise<void> {
  for (const name of untick) await page.getByRole('checkbox', { name }).uncheck()
  await page.getByRole('button', { name: deny ? 'Cancel' : 'Continue', exact: true }).click()
}
