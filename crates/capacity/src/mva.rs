//! Exact mean value analysis of a closed network of one class.
//!
//! Reiser and Lavenberg (1980). Exact for product-form networks: here stations
//! with one server, first come first served and exponential, or processor
//! sharing with any distribution, plus a pure delay. Bursts more regular
//! than exponential queue less than this says.

/// A place with one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Station {
    /// Time one customer needs of it a cycle, in seconds, alone.
    pub demand_s: f64,
}

/// The network's answer at its full population.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Cycles per second of all customers together.
    pub throughput: f64,
    /// Seconds a cycle takes, the delay included.
    pub response_s: f64,
    /// Seconds of a cycle spent at each station, waiting included.
    pub residence_s: Vec<f64>,
}

/// `customers` (1 or more) circulating between `stations` and a delay of
/// `delay_s`, by the recursion over populations: an arriving customer sees the
/// queue of a network with itself removed.
pub fn solve(stations: &[Station], delay_s: f64, customers: u16) -> Network {
    let mut queues = vec![0.0; stations.len()];
    let mut network = Network {
        throughput: 0.0,
        response_s: delay_s,
        residence_s: queues.clone(),
    };
    for population in 1..=customers {
        let arriving = stations.iter().zip(&queues);
        network.residence_s = arriving
            .map(|(s, queue)| s.demand_s * (1.0 + queue))
            .collect();
        network.response_s = delay_s + network.residence_s.iter().sum::<f64>();
        network.throughput = f64::from(population) / network.response_s;
        for (queue, residence) in queues.iter_mut().zip(&network.residence_s) {
            *queue = network.throughput * residence;
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Buzen's convolution: G(n) over the stations one by one, the delay first.
    fn by_convolution(demands: &[f64], delay_s: f64, customers: usize) -> f64 {
        let mut g: Vec<f64> = vec![1.0];
        for n in 1..=customers {
            g.push(g[n - 1] * delay_s / n as f64);
        }
        for demand in demands {
            for n in 1..=customers {
                g[n] += demand * g[n - 1];
            }
        }
        g[customers - 1] / g[customers]
    }

    fn stations(demands: &[f64]) -> Vec<Station> {
        let station = |d: &f64| Station { demand_s: *d };
        demands.iter().map(station).collect()
    }

    /// By hand, in fractions: demand 5, delay 15. One: X = 1/20. Two: R =
    /// 5 (1 + 1/4) = 25/4, X = 2 / (85/4) = 8/85. Three: Q = 50/85 = 10/17,
    /// R = 5 * 27/17 = 135/17, X = 3 / (390/17) = 17/130.
    #[test]
    fn machine_repairman_by_hand() {
        for (customers, throughput) in [(1, 1.0 / 20.0), (2, 8.0 / 85.0), (3, 17.0 / 130.0)] {
            let network = solve(&stations(&[5.0]), 15.0, customers);
            assert!((network.throughput - throughput).abs() < 1e-15);
        }
    }

    /// Two equal stations without delay: n customers give X = n / (n + 1) / D.
    #[test]
    fn balanced_stations_by_hand() {
        let network = solve(&stations(&[2.0, 2.0]), 0.0, 4);
        assert!((network.throughput - 4.0 / 5.0 / 2.0).abs() < 1e-15);
        assert!((network.response_s - 10.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn agrees_with_convolution(
            demands in prop::collection::vec(0.0_f64..20.0, 1..4),
            delay in 0.1_f64..50.0,
            customers in 1_u16..20,
        ) {
            let mva = solve(&stations(&demands), delay, customers).throughput;
            let oracle = by_convolution(&demands, delay, usize::from(customers));
            prop_assert!((mva / oracle - 1.0).abs() < 1e-9, "{} {}", mva, oracle);
        }
    }
}
