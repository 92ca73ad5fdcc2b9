import { afterAll, beforeAll } from 'vitest'
import { type TestApp, type TestAppOptions, type TestTenant, openTestApp } from './open-app.ts'

export interface SharedApp {
  /** The service itself, for what concerns no tenant. */
  readonly app: TestApp
  /** Creates a tenant for one test. */
  newTenant(options?: Pick<TestAppOptions, 'scopes'>): Promise<TestTenant>
}

/**
 * Opens the service on one database, for all tests of a file or a `describe`. Each test has a tenant of its own. A test
 * that changes or counts what all tenants share opens an app of its own instead, by `openTestApp`.
 */
export function useTestApp(options: () => TestAppOptions = () => ({})): SharedApp {
  let app: TestApp | undefined
  beforeAll(async () => {
    app = await openTestApp(options())
  })
  afterAll(async () => app?.[Symbol.asyncDispose]())
  const running = () => {
    if (!app) throw new Error('the service runs only while tests do')
    return app
  }
  return {
    get app() {
      return running()
    },
    newTenant: ofTenant => running().createTenant(undefined, ofTenant),
  }
}
