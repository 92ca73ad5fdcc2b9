import { accountsHost } from '../google/accounts-host.ts'
import { openIdHost } from '../google/openid-host.ts'
import { tokenHost } from '../google/token-host.ts'
import { googleFault } from '../google/faults.ts'
import { wwwHost } from '../google/www-host.ts'
import type { Fault } from '../world/faults.ts'
import type { World } from '../world/world.ts'
import type { HostApp } from './host-app.ts'

/** A host of a provider, which has a port of its own. */
export interface Host {
  readonly name: string
  /** Pages are on `localhost`: for a browser another site than the service on 127.0.0.1. */
  readonly servesPages: boolean
  open(world: World): HostApp
  /** The answer of a fault that refuses a call. */
  refuse(fault: Fault, host: string): Response
}

/** In the order of their ports. New hosts go last, so that the ports before them stay. */
export const HOSTS: readonly Host[] = [
  { name: 'accounts.google.com', servesPages: true, open: accountsHost, refuse: googleFault },
  { name: 'oauth2.googleapis.com', servesPages: false, open: tokenHost, refuse: googleFault },
  { name: 'openidconnect.googleapis.com', servesPages: false, open: openIdHost, refuse: googleFault },
  { name: 'www.googleapis.com', servesPages: false, open: wwwHost, refuse: googleFault },
  { name: 'gmail.googleapis.com', servesPages: false, open: world => world.gmail.app, refuse: googleFault },
]
