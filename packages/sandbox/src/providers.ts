import { google } from './google/google.ts'
import { microsoft } from './microsoft/microsoft.ts'
import type { MicrosoftSeed } from './microsoft/seed.ts'
import type { GoogleSeed } from './google/seed.ts'
import type { Provider } from './world/provider.ts'
import type { WorldSeed } from './world/seed.ts'

/** The providers that the sandbox plays. The first is that of users who are added without one. */
export const PROVIDERS: readonly Provider[] = [google, microsoft]

export type Seed = WorldSeed & GoogleSeed & MicrosoftSeed
