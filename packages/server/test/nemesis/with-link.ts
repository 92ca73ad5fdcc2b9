import type { LinkFaults } from '../servers/fault-proxy.ts'

interface Link {
  setFaults(faults: LinkFaults): void
  cutAll(): void
}

export async function withLink(link: Link, faults: LinkFaults, last: () => Promise<unknown>): Promise<void> {
  link.setFaults(faults)
  await last()
  link.setFaults({})
}

/** For faults of new connections: those that are open are cut before and after. */
export async function withNewLinks(
  link: Link,
  faults: LinkFaults,
  last: () => Promise<unknown>,
): Promise<void> {
  link.setFaults(faults)
  link.cutAll()
  await last()
  link.setFaults({})
  link.cutAll()
}
