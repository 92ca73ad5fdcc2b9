import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { launchChromium, openContext } from './chromium.ts'
import { type TestApp, type TestAppOptions, openTestApp } from './open-app.ts'

/** The service with its reference page, and a browser to open it in. */
export interface ReferencePages extends AsyncDisposable {
  app: TestApp
  open(path: string, options?: BrowserContextOptions): Promise<Opened>
}

export interface Opened extends AsyncDisposable {
  page: Page
  /** Everything that was requested, whether allowed or not. */
  requested: string[]
  /** Everything that the policy blocked or that scripts threw. */
  violations: string[]
}

export async function openReferencePages(ofApp: TestAppOptions = {}): Promise<ReferencePages> {
  await using opened = new AsyncDisposableStack()
  const browser = await launchChromium()
  opened.defer(() => browser.close())
  const app = opened.use(await openTestApp(ofApp))
  const owned = opened.move()
  return {
    app,
    open: (path, options) => openPage(browser, `${app.address}${path}`, options),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function openPage(browser: Browser, url: string, options?: BrowserContextOptions): Promise<Opened> {
  const context = await openContext(browser, options)
  const page = await context.newPage()
  const requested: string[] = []
  const violations: string[] = []
  page.on('request', request => void requested.push(`${request.method()} ${request.url()}`))
  page.on('pageerror', error => void violations.push(error.message))
  page.on('console', message => {
    if (/Content Security Policy|TrustedHTML/.test(message.text())) violations.push(message.text())
  })
  await page.goto(url)
  return { page, requested, violations, [Symbol.asyncDispose]: () => context.close() }
}

/** The form that sends an operation, in its opened details. */
export function formOf(page: Page, operationId: string) {
  return page.locator(`[data-operation="${operationId}"] form`)
}

export async function presentKey(page: Page, key: string) {
  await page.getByRole('button', { name: 'API key' }).click()
  await page.getByLabel('API key', { exact: true }).fill(key)
  await page.keyboard.press('Enter')
}

/** Number of pixels by which the page is wider than its window. */
export function overflowOf(page: Page): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth')
}

/** Whether the whole element is in the window, not only somewhere on the page. */
export async function isInWindow(page: Page, locator: Locator): Promise<boolean> {
  const box = await locator.boundingBox()
  return box !== null && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0)
}

export async function hasFocus(page: Page, locator: Locator): Promise<boolean> {
  return (await locator.and(page.locator(':focus')).count()) === 1
}
