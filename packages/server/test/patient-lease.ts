import type { LeasePace } from '../src/processes/lease.ts'

/** For leases that end only where a test ends them, however busy the machine is. */
export const PATIENT_LEASE: LeasePace = {
  leaseSeconds: 50,
  heartbeatSeconds: 0.5,
  answerSeconds: 20,
  fenceSeconds: 40,
}
